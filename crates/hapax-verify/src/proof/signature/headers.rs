//! The signature headers of a request: which of them count, and their values.

use super::candidates::{Candidates, Collected};
use crate::limits::SIGNATURES_MAX;
use crate::proof::invalid;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::scheme::{HeadersRead, Scheme};

/// Suffix of a header name that is numbered from 1.
const NUMBERED: &str = "-*";

/// The signature headers of a request.
pub(super) struct SignatureHeaders<'a> {
    /// The name of the first header, as the scheme writes it.
    pub(super) name: &'a str,
    pub(super) value: &'a [u8],
    /// The signatures of all headers that count.
    pub(super) candidates: Candidates,
}

/// Reads the headers that count.
pub(super) fn read<'a>(scheme: &'a Scheme, request: &Request<'a>) -> Result<SignatureHeaders<'a>, Rejection> {
    let (name, value) = first_present(&scheme.headers, request)?;
    check_fixed(scheme, request)?;
    let mut collected = Collected::default();
    let added = match scheme.headers_read {
        HeadersRead::First => collected.add_header(scheme, name, value),
        HeadersRead::Every => add_every(scheme, request, &mut collected),
    };
    let candidates = added
        .and_then(|()| collected.finish())
        .map_err(|problem| invalid(name, problem))?;
    Ok(SignatureHeaders {
        name,
        value,
        candidates,
    })
}

/// The first of these headers that is present.
pub(super) fn first_present<'a>(
    names: &'a [String],
    request: &Request<'a>,
) -> Result<(&'a str, &'a [u8]), Rejection> {
    let value = |name: &String| match name.strip_suffix(NUMBERED) {
        Some(stem) => request.headers.get(&numbered(stem, 1)),
        None => request.headers.get(name),
    };
    names
        .iter()
        .find_map(|name| Some((name.as_str(), value(name)?)))
        .ok_or_else(|| Rejection::SignatureMissing {
            header: names.join("` or `"),
        })
}

/// The name under which a provider sends a header.
pub(in crate::proof) fn sent_name(name: &str) -> String {
    match name.strip_suffix(NUMBERED) {
        Some(stem) => numbered(stem, 1),
        None => name.to_owned(),
    }
}

fn numbered(stem: &str, number: usize) -> String {
    format!("{stem}-{number}")
}

fn add_every(
    scheme: &Scheme,
    request: &Request<'_>,
    collected: &mut Collected,
) -> Result<(), SignatureProblem> {
    for name in &scheme.headers {
        match name.strip_suffix(NUMBERED) {
            None => add_list(scheme, request, (name, name), collected)?,
            Some(stem) => {
                for number in 1..=SIGNATURES_MAX {
                    let sent = numbered(stem, number);
                    if request.headers.get(&sent).is_none() {
                        break;
                    }
                    add_list(scheme, request, (name, &sent), collected)?;
                }
            }
        }
    }
    Ok(())
}

/// A header that is sent several times arrives as several values, or as one comma-separated list.
fn add_list(
    scheme: &Scheme,
    request: &Request<'_>,
    (name, sent): (&str, &str),
    collected: &mut Collected,
) -> Result<(), SignatureProblem> {
    let mut result = Ok(());
    request.headers.each(sent, &mut |value| {
        for entry in value.split(|byte| *byte == b',') {
            if result.is_ok() {
                result = collected.add_header(scheme, name, entry.trim_ascii());
            }
        }
    });
    result
}

fn check_fixed(scheme: &Scheme, request: &Request<'_>) -> Result<(), Rejection> {
    for (name, expected) in &scheme.fixed_headers {
        match request.headers.get(name) {
            Some(value) if value == expected.as_bytes() => {}
            Some(_) => return Err(invalid(name, SignatureProblem::NoKnownVersion)),
            None => return Err(Rejection::SignatureMissing { header: name.clone() }),
        }
    }
    Ok(())
}
