//! Contentful: a keyed hash over the request in a canonical form, including the headers that a separate header lists.
//!
//! The list comes with the request. It must contain the timestamp and itself; otherwise someone could remove the
//! timestamp from it and choose another.

use std::collections::BTreeMap;

use aws_lc_rs::hmac::HMAC_SHA256;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::code::Code;
use super::keyed::{KeyedHashes, text_key};
use super::{Prove, Proven, Setup, Stop, instant, invalid, required_header};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::identity::{Origin, ValuePath};
use crate::limits::SIGNED_HEADERS_MAX;
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::{Headers, Request};
use crate::setup::SetupError;
use crate::trace::Trace;

const SIGNATURE: &str = "x-contentful-signature";
const SIGNED_HEADERS: &str = "x-contentful-signed-headers";
const TIMESTAMP: &str = "x-contentful-timestamp";
/// A request of exactly this age is already too old.
const LIFETIME_SECONDS: u32 = 30;

/// What JavaScript's `encodeURIComponent` encodes.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');
/// What `encodeURI` encodes.
const URI: &AsciiSet = &COMPONENT
    .remove(b';')
    .remove(b',')
    .remove(b'/')
    .remove(b'?')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b'#');

pub(super) struct Contentful;

struct ContentfulProof(KeyedHashes);

impl Code for Contentful {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(Box::new(ContentfulProof(KeyedHashes::new(
            HMAC_SHA256,
            setup.secrets,
            text_key,
        )?)))
    }

    fn signer(&self, secret: &str, _: &Options) -> Result<Box<dyn Sign>, SetupError> {
        Ok(Box::new(ContentfulProof(KeyedHashes::new(
            HMAC_SHA256,
            &[secret],
            text_key,
        )?)))
    }

    fn headers(&self) -> &'static [&'static str] {
        &[SIGNATURE]
    }

    fn tolerance_seconds(&self) -> Option<u32> {
        Some(LIFETIME_SECONDS)
    }

    fn summary(&self) -> &'static str {
        "hmac-sha256 in hexadecimal over method, path, the listed headers and body"
    }

    fn covers_url(&self) -> bool {
        true
    }
}

impl ContentfulProof {
    fn check(&self, request: &Request<'_>) -> Result<usize, Rejection> {
        let header = required_header(request, SIGNATURE)?;
        let list = required_header(request, SIGNED_HEADERS)?;
        let undecodable = |_| invalid(SIGNATURE, SignatureProblem::NotDecodable(Encoding::Hex));
        let signature = hex::decode(header).map_err(undecodable)?;
        let path = path_of(request.url).ok_or_else(|| invalid(SIGNATURE, SignatureProblem::UrlUnknown))?;
        let headers = listed_headers(list, request.headers)?;
        let start = canonical_start(request.method, path, &headers);
        let found = self.0.matching(&[start.as_bytes(), request.body], &signature);
        found.ok_or_else(|| invalid(SIGNATURE, SignatureProblem::UrlMismatch))
    }
}

impl Prove for ContentfulProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let index = trace.step("signature", self.check(request), |index| {
            format!("made with secret {} of {}", index + 1, self.0.count())
        })?;
        let time = required_header(request, TIMESTAMP).and_then(|text| fresh(text, request.received_at));
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
            // Each request decides which other headers are covered.
            Origin::Header(name) => name == TIMESTAMP,
            Origin::Url | Origin::Body => true,
        }
    }
}

impl Sign for ContentfulProof {
    fn sign(&self, delivery: &mut Delivery) {
        // The delivery may have been signed before: the official library refuses a list that contains itself twice or
        // contains a signature.
        let is_proof = |name: &str| {
            [SIGNATURE, SIGNED_HEADERS]
                .iter()
                .any(|own| name.eq_ignore_ascii_case(own))
        };
        delivery.headers.retain(|(name, _)| !is_proof(name));
        delivery.set_header(TIMESTAMP, &delivery.timestamp.saturating_mul(1000).to_string());
        let names = delivery.headers.iter().map(|(name, _)| name.to_ascii_lowercase());
        let mut names: Vec<String> = names.chain([SIGNED_HEADERS.to_owned()]).collect();
        names.sort_unstable();
        delivery.set_header(SIGNED_HEADERS, &names.join(","));
        let headers = listed_headers(&names.join(","), &delivery.headers).unwrap_or_default();
        let path = path_of(&delivery.url).unwrap_or_default();
        let start = canonical_start(&delivery.method, path, &headers);
        let hash = self.0.hash(&[start.as_bytes(), &delivery.body]);
        delivery.set_header(SIGNATURE, &hex::encode(hash));
    }
}

/// The listed headers in order, as `name:value` joined with `;`.
fn listed_headers(list: &str, headers: &(impl Headers + ?Sized)) -> Result<String, Rejection> {
    let names: Vec<String> = list
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    if names.len() > SIGNED_HEADERS_MAX {
        return Err(invalid(SIGNED_HEADERS, SignatureProblem::TooMany));
    }
    if !has(TIMESTAMP) || !has(SIGNED_HEADERS) {
        let problem = SignatureProblem::Refused("the list of signed headers lacks the timestamp or itself");
        return Err(invalid(SIGNED_HEADERS, problem));
    }
    let mut values = BTreeMap::new();
    for name in &names {
        if let Some(value) = headers.get(name) {
            let unreadable = |_| invalid(SIGNED_HEADERS, SignatureProblem::Unreadable);
            values.insert(name, std::str::from_utf8(value).map_err(unreadable)?.trim());
        }
    }
    let pairs: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    Ok(pairs.join(";"))
}

fn canonical_start(method: &str, path: &str, headers: &str) -> String {
    format!("{method}\n{}\n{headers}\n", canonical_path(path))
}

/// The path and query of a URL, unchanged.
fn path_of(url: &str) -> Option<&str> {
    let host = url.find("://")? + 3;
    let rest = url.get(host..)?;
    Some(
        rest.find(['/', '?'])
            .map_or("/", |at| rest.get(at..).unwrap_or("/")),
    )
}

/// The query is escaped as a whole, and then everything is escaped once more, as in Contentful's own code.
fn canonical_path(path: &str) -> String {
    let mut pieces = path.split('?');
    let (path, query) = (
        pieces.next().unwrap_or_default(),
        pieces.next().unwrap_or_default(),
    );
    if query.is_empty() {
        return utf8_percent_encode(path, URI).to_string();
    }
    let query = utf8_percent_encode(query, COMPONENT);
    utf8_percent_encode(&format!("{path}?{query}"), URI).to_string()
}

fn fresh(milliseconds: &str, received_at: i64) -> Result<i64, Rejection> {
    let signed_at = instant::decimal(milliseconds);
    let lifetime = u64::from(LIFETIME_SECONDS) * 1000;
    let near = |at: &i64| received_at.saturating_mul(1000).abs_diff(*at) < lifetime;
    let in_seconds = signed_at.map(|at| at / 1000);
    signed_at
        .filter(near)
        .map(|at| at / 1000)
        .ok_or(Rejection::TimestampOutOfRange {
            signed_at: in_seconds,
            received_at,
            tolerance_seconds: LIFETIME_SECONDS - 1,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_escaped_twice_and_the_path_once() {
        assert_eq!(
            canonical_path("/a b?c=1&d=x%20y"),
            "/a%20b?c%253D1%2526d%253Dx%252520y"
        );
        assert_eq!(canonical_path("/a%20b"), "/a%2520b");
        assert_eq!(canonical_path("/a?"), "/a");
    }

    /// Even if the provider's own key has signed such a list.
    #[test]
    fn a_list_without_the_timestamp_or_itself_is_refused() {
        let headers = vec![(TIMESTAMP, "1"), (SIGNED_HEADERS, "x"), ("a", "b")];
        assert!(listed_headers("a,x-contentful-timestamp,x-contentful-signed-headers", &headers).is_ok());
        assert!(listed_headers("a,x-contentful-signed-headers", &headers).is_err());
        assert!(listed_headers("a,x-contentful-timestamp", &headers).is_err());
        assert!(listed_headers("", &headers).is_err());
    }

    #[test]
    fn signing_again_lists_each_header_once_and_never_the_signature() {
        let proof = ContentfulProof(KeyedHashes::new(HMAC_SHA256, &["secret"], text_key).unwrap());
        let mut delivery = Delivery {
            url: "https://hooks.example.com/in".to_owned(),
            headers: vec![("X-Contentful-Topic".to_owned(), "Entry.publish".to_owned())],
            ..Delivery::default()
        };
        proof.sign(&mut delivery);
        let once = delivery.headers.clone();
        proof.sign(&mut delivery);
        assert_eq!(delivery.headers, once);
        assert_eq!(
            delivery.headers[2].1,
            "x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic"
        );
    }

    #[test]
    fn listed_headers_are_in_order_trimmed_and_each_once() {
        let headers = vec![("b", " 2 "), (TIMESTAMP, "1"), (SIGNED_HEADERS, "x"), ("a", "1")];
        let list = "B, a,x-contentful-timestamp,x-contentful-signed-headers,b,absent";
        let text = listed_headers(list, &headers).unwrap();
        assert_eq!(
            text,
            "a:1;b:2;x-contentful-signed-headers:x;x-contentful-timestamp:1"
        );
    }

    #[test]
    fn an_age_of_thirty_seconds_is_too_old() {
        assert!(fresh("1000000000", 1_000_029).is_ok());
        assert!(fresh("1000000000", 1_000_030).is_err());
        assert!(fresh("1000000000", 999_970).is_err());
        assert!(fresh("soon", 1_000_000).is_err());
    }
}
