//! HubSpot, version 3: a keyed hash over method, URL, body and a timestamp in milliseconds.
//!
//! Versions 1 and 2 hash the secret together with the rest without a key, so anyone who has seen one request can extend
//! it. They are ignored.

use aws_lc_rs::hmac::HMAC_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::code::Code;
use super::keyed::{KeyedHashes, text_key};
use super::{Prove, Proven, Setup, Stop, instant, invalid, required_header};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::identity::{Origin, ValuePath};
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::setup::SetupError;
use crate::trace::Trace;

const SIGNATURE: &str = "x-hubspot-signature-v3";
const TIMESTAMP: &str = "x-hubspot-request-timestamp";
const TOLERANCE_SECONDS: u32 = 300;

/// Characters that HubSpot signs unescaped although the URL has them percent-encoded. A percent decoder would decode all
/// the others, too.
const DECODED: [(&str, &str); 12] = [
    ("%3A", ":"),
    ("%2F", "/"),
    ("%3F", "?"),
    ("%40", "@"),
    ("%21", "!"),
    ("%24", "$"),
    ("%27", "'"),
    ("%28", "("),
    ("%29", ")"),
    ("%2A", "*"),
    ("%2C", ","),
    ("%3B", ";"),
];

pub(super) struct Hubspot;

struct HubspotProof(KeyedHashes);

impl Code for Hubspot {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(Box::new(HubspotProof(KeyedHashes::new(
            HMAC_SHA256,
            setup.secrets,
            text_key,
        )?)))
    }

    fn signer(&self, secret: &str, _: &Options) -> Result<Box<dyn Sign>, SetupError> {
        Ok(Box::new(HubspotProof(KeyedHashes::new(
            HMAC_SHA256,
            &[secret],
            text_key,
        )?)))
    }

    fn headers(&self) -> &'static [&'static str] {
        &[SIGNATURE]
    }

    fn tolerance_seconds(&self) -> Option<u32> {
        Some(TOLERANCE_SECONDS)
    }

    fn summary(&self) -> &'static str {
        "hmac-sha256 in base64 over `{method}{url}{body}{timestamp}`"
    }

    fn covers_url(&self) -> bool {
        true
    }
}

impl HubspotProof {
    fn check(&self, request: &Request<'_>) -> Result<(usize, &'static str), Rejection> {
        let header = required_header(request, SIGNATURE)?;
        let timestamp = required_header(request, TIMESTAMP)?;
        let undecodable = |_| invalid(SIGNATURE, SignatureProblem::NotDecodable(Encoding::Base64));
        let signature = STANDARD.decode(header).map_err(undecodable)?;
        if request.url.is_empty() {
            return Err(invalid(SIGNATURE, SignatureProblem::UrlUnknown));
        }
        if instant::decimal(timestamp).is_none() {
            return Err(invalid(SIGNATURE, SignatureProblem::TimestampMissing));
        }
        let urls = [
            (decoded(request.url), "with its punctuation decoded"),
            (request.url.to_owned(), "as it is"),
        ];
        let matching = |(url, how): &(String, &'static str)| {
            let parts = [
                request.method.as_bytes(),
                url.as_bytes(),
                request.body,
                timestamp.as_bytes(),
            ];
            Some((self.0.matching(&parts, &signature)?, *how))
        };
        let found = urls.iter().find_map(matching);
        found.ok_or_else(|| invalid(SIGNATURE, SignatureProblem::UrlMismatch))
    }
}

impl Prove for HubspotProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let (index, _) = trace.step("signature", self.check(request), |(index, how)| {
            let count = self.0.count();
            format!("made with secret {} of {count} over the URL {how}", index + 1)
        })?;
        let milliseconds = required_header(request, TIMESTAMP)
            .ok()
            .and_then(instant::decimal);
        let seconds = milliseconds.map(|milliseconds| milliseconds / 1000);
        let time = instant::near(seconds, request.received_at, TOLERANCE_SECONDS);
        let signed_at = trace.step("timestamp", time, |at| {
            format!("signed at {at}, received at {}", request.received_at)
        })?;
        Ok(Proven {
            secret_index: Some(index),
            signed_at: Some(signed_at),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        request.headers.get(SIGNATURE).is_some()
    }

    fn covers(&self, place: &ValuePath) -> bool {
        match place.origin() {
            Origin::Header(name) => name == TIMESTAMP,
            Origin::Url | Origin::Body => true,
        }
    }
}

impl Sign for HubspotProof {
    fn sign(&self, delivery: &mut Delivery) {
        let timestamp = delivery.timestamp.saturating_mul(1000).to_string();
        let url = decoded(&delivery.url);
        let hash = self.0.hash(&[
            delivery.method.as_bytes(),
            url.as_bytes(),
            &delivery.body,
            timestamp.as_bytes(),
        ]);
        delivery.set_header(TIMESTAMP, &timestamp);
        delivery.set_header(SIGNATURE, &STANDARD.encode(hash));
    }
}

fn decoded(url: &str) -> String {
    let mut text = url.to_owned();
    for (encoded, character) in DECODED {
        text = text
            .replace(encoded, character)
            .replace(&encoded.to_ascii_lowercase(), character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_documented_punctuation_is_decoded() {
        assert_eq!(
            decoded("https://a/b?c=%3a%2F%20%25%3D%2C"),
            "https://a/b?c=:/%20%25%3D,"
        );
        assert_eq!(decoded("https://a/b"), "https://a/b");
    }
}
