//! A body that was changed in transit: undoes the change and tries the signature again.

use std::collections::HashSet;

use super::{BodyChange, Mistake, json};
use crate::request::Request;
use crate::verifier::Verifier;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) fn find(verifier: &Verifier, request: &Request<'_>) -> Option<Mistake> {
    let fits = |body: &[u8]| verifier.proves(&Request { body, ..*request });
    let mut tried = HashSet::from([request.body.to_vec()]);
    let mut originals = small_changes(request.body)
        .into_iter()
        .chain(rewritten(request.body));
    originals.find_map(|(change, body)| {
        let fresh = tried.insert(body.clone());
        (fresh && fits(&body)).then_some(Mistake::Body(change))
    })
}

/// The possible originals of a body with a small change.
fn small_changes(body: &[u8]) -> Vec<(BodyChange, Vec<u8>)> {
    let mut originals = vec![
        (BodyChange::LastLineBreakCut, [body, b"\n"].concat()),
        (BodyChange::LastLineBreakCut, [body, b"\r\n"].concat()),
        (BodyChange::BlanksAdded, body.trim_ascii_end().to_vec()),
        (BodyChange::BlanksAdded, body.trim_ascii().to_vec()),
        (BodyChange::LineEndsLengthened, with_line_feeds(body)),
        (BodyChange::LineEndsShortened, with_carriage_returns(body)),
    ];
    if let Some(rest) = body.strip_prefix(BYTE_ORDER_MARK) {
        originals.push((BodyChange::MarkAdded, rest.to_vec()));
    }
    originals
}

/// The possible originals of a body that was parsed and serialised again.
fn rewritten(body: &[u8]) -> impl Iterator<Item = (BodyChange, Vec<u8>)> {
    let json = json::rewritings(body).map(|text| (BodyChange::JsonRewritten, text));
    let form = form_rewritings(body).into_iter();
    json.chain(form.map(|text| (BodyChange::FormRewritten, text)))
}

fn with_line_feeds(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    for (index, byte) in body.iter().enumerate() {
        if !(*byte == b'\r' && body.get(index + 1) == Some(&b'\n')) {
            out.push(*byte);
        }
    }
    out
}

fn with_carriage_returns(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 64);
    for byte in with_line_feeds(body) {
        if byte == b'\n' {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

/// A form as common libraries write it: a space is `+` or `%20`.
fn form_rewritings(body: &[u8]) -> Vec<Vec<u8>> {
    if !body.contains(&b'=') || body.starts_with(b"{") {
        return Vec::new();
    }
    let plus = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form_urlencoded::parse(body))
        .finish();
    let percent = plus.replace('+', "%20");
    vec![plus.into_bytes(), percent.into_bytes()]
}
