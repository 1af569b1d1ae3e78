//! Twilio: a keyed hash over the URL that was called and, for a form, every name and value in a fixed order.
//!
//! A body that is not a form is covered by its hash in the URL; a GET callback has everything in the URL.

mod borders;

use std::collections::BTreeSet;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA1_OUTPUT_LEN, SHA256, SHA256_OUTPUT_LEN, digest};
use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::code::Code;
use super::keyed::{KeyedHashes, text_key};
use super::{Prove, Proven, Setup, Stop, invalid, required_header};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::identity::ValuePath;
use crate::limits::FORM_FIELDS_MAX;
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::{Headers, Request, query_value};
use crate::setup::SetupError;
use crate::trace::Trace;

const SIGNATURE: &str = "x-twilio-signature";
const BODY_HASH: &str = "bodySHA256";

pub(super) struct Twilio;

/// The same secrets for both hashes: the length of a signature shows which hash it was made with.
struct TwilioProof {
    sha1: KeyedHashes,
    sha256: KeyedHashes,
}

impl Code for Twilio {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(Box::new(TwilioProof::new(setup.secrets)?))
    }

    fn signer(&self, secret: &str, _: &Options) -> Result<Box<dyn Sign>, SetupError> {
        Ok(Box::new(TwilioProof::new(&[secret])?))
    }

    fn headers(&self) -> &'static [&'static str] {
        &[SIGNATURE]
    }

    fn summary(&self) -> &'static str {
        "hmac-sha1 or hmac-sha256 in base64 over the URL and the sorted fields of the form"
    }

    fn covers_url(&self) -> bool {
        true
    }
}

impl TwilioProof {
    fn new(secrets: &[&str]) -> Result<Self, SetupError> {
        Ok(TwilioProof {
            sha1: KeyedHashes::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, secrets, text_key)?,
            sha256: KeyedHashes::new(HMAC_SHA256, secrets, text_key)?,
        })
    }

    fn check(&self, request: &Request<'_>) -> Result<usize, Rejection> {
        let header = required_header(request, SIGNATURE)?;
        let undecodable = || invalid(SIGNATURE, SignatureProblem::NotDecodable(Encoding::Base64));
        let signature = STANDARD.decode(header).map_err(|_| undecodable())?;
        let keys = match signature.len() {
            SHA1_OUTPUT_LEN => &self.sha1,
            SHA256_OUTPUT_LEN => &self.sha256,
            _ => return Err(undecodable()),
        };
        if request.url.is_empty() {
            return Err(invalid(SIGNATURE, SignatureProblem::UrlUnknown));
        }
        let fields = signed_fields(request)?;
        let text = text_of(&fields);
        // Twilio signs with or without the default port, depending on the product.
        let urls = [with_port(request.url), without_port(request.url)];
        let matching = |url: &String| keys.matching(&[url.as_bytes(), text.as_bytes()], &signature);
        let found = urls.iter().find_map(matching);
        let index = found.ok_or_else(|| invalid(SIGNATURE, SignatureProblem::UrlMismatch))?;
        if borders::are_clear(&fields) {
            Ok(index)
        } else {
            Err(invalid(SIGNATURE, SignatureProblem::Ambiguous))
        }
    }
}

impl Prove for TwilioProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let index = trace.step("signature", self.check(request), |index| {
            format!("made with secret {} of {}", index + 1, self.sha1.count())
        })?;
        Ok(Proven {
            secret_index: Some(index),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        request.headers.get(SIGNATURE).is_some()
    }

    fn covers(&self, place: &ValuePath) -> bool {
        match place {
            // The fields of a form are signed, but not their encoding.
            ValuePath::Header(_) | ValuePath::BodySha256 | ValuePath::RequestSha256 => false,
            ValuePath::Query(_)
            | ValuePath::Body(_)
            | ValuePath::Form(_)
            | ValuePath::Request(_)
            | ValuePath::Index
            | ValuePath::Present(_)
            | ValuePath::Flag(_)
            | ValuePath::Proof(_)
            | ValuePath::Text(_) => true,
        }
    }
}

impl Sign for TwilioProof {
    fn sign(&self, delivery: &mut Delivery) {
        if delivery.method == "GET" {
            let form = std::mem::take(&mut delivery.body);
            for (name, value) in form_urlencoded::parse(&form) {
                delivery.add_to_query(&name, &value);
            }
        } else if !is_form(&delivery.headers) && !delivery.body.is_empty() {
            delivery.add_to_query(BODY_HASH, &hex::encode(digest(&SHA256, &delivery.body)));
        }
        let request = Request::new(&delivery.headers, &delivery.body, delivery.timestamp).url(&delivery.url);
        let text = text_of(&signed_fields(&request).unwrap_or_default());
        let hash = self.sha1.hash(&[delivery.url.as_bytes(), text.as_bytes()]);
        delivery.set_header(SIGNATURE, &STANDARD.encode(hash));
    }
}

/// What is signed in addition to the URL: the fields of a form. Any other body must match the hash in the URL, because
/// otherwise nothing would cover it.
fn signed_fields(request: &Request<'_>) -> Result<Fields, Rejection> {
    if request.body.is_empty() {
        return Ok(Fields::new());
    }
    if request.method != "GET" && is_form(request.headers) {
        return sorted_fields(request.body);
    }
    let named = query_value(request.query, BODY_HASH).and_then(|text| hex::decode(text).ok());
    let hash = digest(&SHA256, request.body);
    let covered = named.is_some_and(|named| verify_slices_are_equal(hash.as_ref(), &named).is_ok());
    if covered {
        Ok(Fields::new())
    } else {
        Err(invalid(SIGNATURE, SignatureProblem::BodyMismatch))
    }
}

/// A request without a content type counts as a form, as Twilio's callbacks are.
fn is_form(headers: &(impl Headers + ?Sized)) -> bool {
    const FORM: &[u8] = b"application/x-www-form-urlencoded";
    match headers.get("content-type") {
        None => true,
        Some(kind) => kind
            .get(..FORM.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(FORM)),
    }
}

/// The names of a form in order, each with its distinct values in order.
type Fields = BTreeSet<(String, String)>;

fn sorted_fields(form: &[u8]) -> Result<Fields, Rejection> {
    let mut fields = Fields::new();
    for (count, (name, value)) in form_urlencoded::parse(form).enumerate() {
        if count == FORM_FIELDS_MAX {
            return Err(invalid(SIGNATURE, SignatureProblem::TooMany));
        }
        fields.insert((name.into_owned(), value.into_owned()));
    }
    Ok(fields)
}

/// The signed text of a form: every name and value, one after another.
fn text_of(fields: &Fields) -> String {
    let parts = fields
        .iter()
        .flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    parts.collect()
}

/// The URL with its port, or the default port of its scheme.
fn with_port(url: &str) -> String {
    let default = if url.starts_with("http://") { "80" } else { "443" };
    match split_at_host(url) {
        Some((before, rest)) if port_at(before).is_none() => format!("{before}:{default}{rest}"),
        Some(_) | None => url.to_owned(),
    }
}

/// The URL without its port.
fn without_port(url: &str) -> String {
    let parts = split_at_host(url);
    let ported = parts.and_then(|(before, rest)| Some((before.get(..port_at(before)?)?, rest)));
    ported.map_or_else(|| url.to_owned(), |(before, rest)| format!("{before}{rest}"))
}

/// Splits a URL after its host and port.
fn split_at_host(url: &str) -> Option<(&str, &str)> {
    let host = url.find("://")? + 3;
    let end = url
        .get(host..)?
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| host + at);
    url.split_at_checked(end)
}

/// The start of the port, including its colon.
fn port_at(before: &str) -> Option<usize> {
    let digits = before.trim_end_matches(|character: char| character.is_ascii_digit());
    let is_port = digits.len() < before.len() && digits.ends_with(':');
    is_port.then(|| digits.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_added_and_taken_off() {
        for (url, with, without) in [
            (
                "https://a.b/c?d=1:2",
                "https://a.b:443/c?d=1:2",
                "https://a.b/c?d=1:2",
            ),
            ("http://a.b/c", "http://a.b:80/c", "http://a.b/c"),
            ("https://a.b:1234", "https://a.b:1234", "https://a.b"),
            ("https://u:p@a.b/c", "https://u:p@a.b:443/c", "https://u:p@a.b/c"),
            ("https://[::1]/c", "https://[::1]:443/c", "https://[::1]/c"),
            ("https://a.b?x=y", "https://a.b:443?x=y", "https://a.b?x=y"),
        ] {
            assert_eq!(
                (with_port(url).as_str(), without_port(url).as_str()),
                (with, without),
                "{url}"
            );
        }
    }

    #[test]
    fn fields_are_sorted_and_equal_values_count_once() {
        let fields = sorted_fields(b"b=2&a=9&b=1&b=2&A=%2B").unwrap();
        assert_eq!(text_of(&fields), "A+a9b1b2");
    }

    /// A signature over only a URL must not cover an arbitrary body sent with it.
    #[test]
    fn a_body_that_is_no_form_needs_its_hash_in_the_url() {
        let proof = TwilioProof::new(&["s"]).unwrap();
        let url = "https://a.b/c";
        let signature = STANDARD.encode(proof.sha1.hash(&[url.as_bytes()]));
        let headers = vec![
            ("content-type", "application/json"),
            (SIGNATURE, signature.as_str()),
        ];
        assert!(proof.check(&Request::new(&headers, b"", 0).url(url)).is_ok());
        assert!(proof.check(&Request::new(&headers, b"{}", 0).url(url)).is_err());
        let form = vec![(SIGNATURE, signature.as_str())];
        let by_get = Request::new(&form, b"MessageSid=1", 0).method("GET").url(url);
        assert!(proof.check(&by_get).is_err());
    }
}
