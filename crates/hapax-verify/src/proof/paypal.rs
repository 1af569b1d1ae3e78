//! PayPal: an RSA signature over the transmission's id and time, the webhook's id and the CRC-32 of the body, by a key
//! whose certificate a header names.
//!
//! A checksum is no hash: whoever holds one signed delivery can make another body with the same checksum. So nothing in
//! the body counts as signed here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::coded::Code;
use super::key_url::{is_host, plain_https};
use super::keyed::each_secret;
use super::public_key::{Hash, RsaKey, RsaSigningKey, fetched_certificate, rsa_pair, rsa_verifies};
use super::{Prove, Proven, Setup, Stop, instant, invalid, required_header};
use crate::identity::{Origin, Place};
use crate::sign::{Delivery, SecretPair, Sign};
use crate::trace::Trace;
use crate::{Encoding, KeyRequest, Options, Rejection, Request, SetupError, SignatureProblem};

const SIGNATURE: &str = "paypal-transmission-sig";
const TRANSMISSION_ID: &str = "paypal-transmission-id";
const TRANSMISSION_TIME: &str = "paypal-transmission-time";
const CERTIFICATE_URL: &str = "paypal-cert-url";
const ALGORITHM: &str = "paypal-auth-algo";
const WEBHOOK_ID: &str = "webhook_id";

pub(super) struct Paypal;

struct PaypalProof {
    keys: Vec<RsaKey>,
    webhook_id: String,
}

impl Code for Paypal {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(Box::new(PaypalProof {
            keys: each_secret(setup.secrets, RsaKey::from_secret)?,
            webhook_id: webhook_id(setup.options)?,
        }))
    }

    fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError> {
        let key = RsaSigningKey::from_secret(secret);
        Ok(Box::new(PaypalSigner {
            key: key.map_err(|problem| SetupError::Secret { position: 1, problem })?,
            webhook_id: webhook_id(options)?,
        }))
    }

    fn headers(&self) -> &'static [&'static str] {
        &[SIGNATURE]
    }

    fn summary(&self) -> &'static str {
        "rsa-sha256 in base64 over ids, time and the CRC-32 of the body, by a certificate that is fetched"
    }

    fn secret_pair(&self, _: &[u8; 32]) -> SecretPair {
        rsa_pair()
    }
}

impl PaypalProof {
    /// Signed content and signature.
    fn parts(&self, request: &Request<'_>) -> Result<(String, Vec<u8>), Rejection> {
        let header = required_header(request, SIGNATURE)?;
        let undecodable = |_| invalid(SIGNATURE, SignatureProblem::NotDecodable(Encoding::Base64));
        let signature = STANDARD.decode(header).map_err(undecodable)?;
        if required_header(request, ALGORITHM)? != "SHA256withRSA" {
            let problem = SignatureProblem::Refused("only SHA256withRSA is");
            return Err(invalid(ALGORITHM, problem));
        }
        let id = required_header(request, TRANSMISSION_ID)?;
        let time = required_header(request, TRANSMISSION_TIME)?;
        if id.contains('|') || time.contains('|') {
            return Err(invalid(SIGNATURE, SignatureProblem::Ambiguous));
        }
        Ok((content(id, time, &self.webhook_id, request.body), signature))
    }

    /// The place of the configured key that matches; nothing if the certificate was fetched.
    fn check(&self, request: &Request<'_>) -> Result<Option<usize>, Stop> {
        let (content, signature) = self.parts(request)?;
        let mismatch = || Stop::Rejected(invalid(SIGNATURE, SignatureProblem::Mismatch));
        if !self.keys.is_empty() {
            let matches = |key: &RsaKey| {
                let valid = key.is_valid_at(request.received_at);
                valid && key.verifies(Hash::Sha256, content.as_bytes(), &signature)
            };
            return self.keys.iter().position(matches).map(Some).ok_or_else(mismatch);
        }
        let url = required_header(request, CERTIFICATE_URL)?;
        if !plain_https(url).is_some_and(|(host, _)| is_paypal_host(host)) {
            return Err(Stop::Rejected(Rejection::KeyRefused {
                problem: "the certificate's URL is not one of PayPal".to_owned(),
            }));
        }
        let Some(pem) = request.keys.get(url) else {
            return Err(Stop::NeedsKey(KeyRequest {
                url: url.to_owned(),
                key_id: url.to_owned(),
                body: None,
            }));
        };
        let certificate = fetched_certificate(&pem, request.received_at, is_paypal_host)?;
        if !rsa_verifies(
            &certificate.public_key,
            Hash::Sha256,
            content.as_bytes(),
            &signature,
        ) {
            return Err(mismatch());
        }
        Ok(None)
    }
}

impl Prove for PaypalProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let secret_index = match self.check(request) {
            Ok(index) => index,
            Err(Stop::Rejected(rejection)) => {
                trace.step::<()>("signature", Err(rejection), |()| String::new())?;
                None
            }
            Err(stop @ Stop::NeedsKey(_)) => return Err(stop),
        };
        trace.passed("signature", || match secret_index {
            Some(index) => format!("made with secret {} of {}", index + 1, self.keys.len()),
            None => "made with the certificate that the request names".to_owned(),
        });
        trace.noted("body", || {
            "only its CRC-32 is signed, and another body with the same one is easily made".to_owned()
        });
        let time = required_header(request, TRANSMISSION_TIME).ok();
        Ok(Proven {
            secret_index,
            signed_at: time.and_then(instant::rfc3339),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        request.headers.get(SIGNATURE).is_some()
    }

    fn covers(&self, place: &Place) -> bool {
        match place.origin() {
            Origin::Header(name) => name == TRANSMISSION_ID || name == TRANSMISSION_TIME,
            Origin::Url | Origin::Body => false,
        }
    }
}

struct PaypalSigner {
    key: RsaSigningKey,
    webhook_id: String,
}

impl Sign for PaypalSigner {
    fn sign(&self, delivery: &mut Delivery) {
        let time = instant::rfc3339_text(delivery.timestamp);
        let id = format!("transmission-of-{}", delivery.id.replace('|', "-"));
        let content = content(&id, &time, &self.webhook_id, &delivery.body);
        let headers = [
            (TRANSMISSION_ID, id),
            (TRANSMISSION_TIME, time),
            (ALGORITHM, "SHA256withRSA".to_owned()),
            (
                CERTIFICATE_URL,
                "https://api.paypal.com/v1/notifications/certs/sample".to_owned(),
            ),
            (SIGNATURE, self.key.sign(content.as_bytes())),
        ];
        for (name, value) in headers {
            delivery.set_header(name, &value);
        }
    }
}

fn content(id: &str, time: &str, webhook_id: &str, body: &[u8]) -> String {
    format!("{id}|{time}|{webhook_id}|{}", crc32(body))
}

/// `paypal.com` and everything below it.
fn is_paypal_host(host: &str) -> bool {
    is_host(host) && (host == "paypal.com" || host.ends_with(".paypal.com"))
}

fn webhook_id(options: &Options) -> Result<String, SetupError> {
    let id = options.text(WEBHOOK_ID).filter(|id| !id.is_empty());
    let id = id.ok_or(SetupError::OptionMissing { name: WEBHOOK_ID })?;
    Ok(id.to_owned())
}

/// The CRC-32 of zip and Ethernet.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = crc.to_le_bytes();
        CRC_TABLE[usize::from(low ^ byte)] ^ (crc >> 8)
    };
    !bytes.iter().fold(u32::MAX, step)
}

static CRC_TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let (mut index, mut start) = (0, 0);
    while index < 256 {
        let (mut value, mut bit): (u32, u32) = (start, 0);
        while bit < 8 {
            value = if value & 1 == 1 {
                0xedb8_8320 ^ (value >> 1)
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[index] = value;
        index += 1;
        start += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn only_hosts_of_paypal_have_its_certificates() {
        assert!(is_paypal_host("api.sandbox.paypal.com"));
        for wrong in [
            "api.paypal.com.evil.example",
            "evilpaypal.com",
            "api.paypal.com\0.paypal.com",
            "",
        ] {
            assert!(!is_paypal_host(wrong), "{wrong}");
        }
    }
}
