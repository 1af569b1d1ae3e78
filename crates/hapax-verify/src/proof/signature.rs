//! A signature that is described by data: a [`Scheme`] and secrets, compiled.
//!
//! The order is fixed: find the signature, check it over the raw bytes, check the time it was made at. A timestamp is
//! judged after the signature, so `timestamp_out_of_range` always means a genuine but late (or early) delivery, never a
//! forged one.

mod candidates;
mod content;
mod keys;
mod timestamp;

pub(crate) use content::{Content, concatenate};
pub(crate) use keys::{hmac_algorithm, tag};

use candidates::Candidates;
use keys::VerifyingKey;

use super::{Prove, Proven, Setup, Stop};
use crate::identity::Place;
use crate::scheme::{Part, TimestampPlace};
use crate::sign::{Delivery, Sign, Signer};
use crate::trace::Trace;
use crate::{Options, Rejection, Request, Scheme, SetupError, SignatureProblem};

pub(crate) struct SignatureProof {
    scheme: Scheme,
    keys: Vec<VerifyingKey>,
    /// The URL that the sender was given, where it is not the one that the service is known by.
    url: Option<String>,
}

/// The signature header of a request, taken apart.
struct Located<'a> {
    header: &'a str,
    candidates: Candidates,
    content: Content<'a>,
}

impl SignatureProof {
    pub(super) fn new(scheme: Scheme, setup: &Setup<'_>) -> Result<Self, SetupError> {
        scheme.check()?;
        let keys = keys::verifying_keys(&scheme, setup.secrets)?;
        let url = scheme
            .url_option
            .as_deref()
            .and_then(|name| setup.options.text(name));
        let url = url.map(str::to_owned);
        Ok(SignatureProof { scheme, keys, url })
    }

    /// Finds the signatures and everything that they cover; reads headers only.
    fn locate<'a>(&'a self, request: &Request<'a>) -> Result<Located<'a>, Rejection> {
        let (header, value) = first_header(&self.scheme.headers, request)?;
        let candidates =
            Candidates::parse(&self.scheme, value).map_err(|problem| invalid(header, problem))?;
        let timestamp = match self.scheme.timestamp.as_ref().map(|rule| &rule.place) {
            None => None,
            Some(TimestampPlace::Headers(names)) => Some(first_header(names, request)?.1),
            Some(TimestampPlace::Key(key)) => Some(
                candidates::value_of(value, key)
                    .ok_or_else(|| invalid(header, SignatureProblem::TimestampMissing))?,
            ),
        };
        let id = match self.scheme.id_headers.as_slice() {
            [] => None,
            names => Some(first_header(names, request)?.1),
        };
        let url = self.url.as_deref().unwrap_or(request.url);
        let content = Content::new(&self.scheme.signed, request, url, id, timestamp)
            .map_err(|fault| fault.into_rejection(header))?;
        Ok(Located {
            header,
            candidates,
            content,
        })
    }

    /// The place of the first secret that any of the signatures was made with.
    fn matching_secret(&self, located: &Located<'_>) -> Result<usize, Rejection> {
        let mut known_version = false;
        for (index, key) in self.keys.iter().enumerate() {
            if !located.candidates.has_kind(key.kind()) {
                continue;
            }
            known_version = true;
            if key.matches(&located.content, &located.candidates) {
                return Ok(index);
            }
        }
        let problem = match (self.keys.is_empty(), known_version) {
            (true, _) => SignatureProblem::NoSecret,
            (false, true) => SignatureProblem::Mismatch,
            (false, false) => SignatureProblem::NoKnownVersion,
        };
        Err(invalid(located.header, problem))
    }

    /// The signed time, if it is near enough to the time of arrival.
    fn check_time(&self, located: &Located<'_>, request: &Request<'_>) -> Result<Option<i64>, Rejection> {
        match (&self.scheme.timestamp, located.content.timestamp()) {
            (Some(rule), Some(text)) => timestamp::check(rule, text, request.received_at).map(Some),
            (Some(_), None) | (None, _) => Ok(None),
        }
    }
}

impl Prove for SignatureProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let located = trace.step("signature header", self.locate(request), |located| {
            let count = located.candidates.count();
            format!(
                "`{}` holds {count} signature(s) of a known version",
                located.header
            )
        })?;
        trace.passed("signed content", || {
            let body = request.body.len();
            format!("`{}`, with a body of {body} bytes", self.scheme.signed)
        });
        let index = trace.step("signature", self.matching_secret(&located), |index| {
            format!("made with secret {} of {}", index + 1, self.keys.len())
        })?;
        let time = self.check_time(&located, request);
        let signed_at = trace.step("timestamp", time, |signed_at| match signed_at {
            Some(at) => format!("signed at {at}, received at {}", request.received_at),
            None => "this scheme signs none, so only the event id protects against replays".to_owned(),
        })?;
        Ok(Proven {
            secret_index: Some(index),
            signed_at,
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        first_header(&self.scheme.headers, request).is_ok()
    }

    fn covers(&self, place: &Place) -> bool {
        let signed = &self.scheme.signed;
        match place {
            Place::Header(name) => {
                // Where `{id}` reads one header only, it is that header that is covered.
                let is_id = signed.parts().contains(&Part::Id)
                    && self.scheme.id_headers.as_slice() == std::slice::from_ref(name);
                is_id || signed.covers_header(name)
            }
            Place::Query(_) => signed.covers_url(),
            Place::Body(_)
            | Place::Form(_)
            | Place::BodySha256
            | Place::Request(_)
            | Place::RequestSha256
            | Place::Index
            | Place::Present(_)
            | Place::Text(_) => signed.covers_body(),
        }
    }

    /// `{id}` covers the first of its headers that is present, so the id must look in the same ones in the same order.
    fn covers_first_of(&self, headers: &[String]) -> bool {
        let is_id = self.scheme.signed.parts().contains(&Part::Id) && headers == self.scheme.id_headers;
        is_id || headers.iter().all(|name| self.scheme.signed.covers_header(name))
    }
}

pub(super) fn signer(scheme: &Scheme, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError> {
    let url = scheme.url_option.as_deref().and_then(|name| options.text(name));
    Ok(Box::new(SchemeSigner {
        signer: Signer::new(scheme, secret)?,
        url: url.map(str::to_owned),
    }))
}

struct SchemeSigner {
    signer: Signer,
    url: Option<String>,
}

impl Sign for SchemeSigner {
    fn sign(&self, delivery: &mut Delivery) {
        let url = self.url.as_deref().unwrap_or(&delivery.url);
        let headers = self.signer.sign(
            &delivery.id,
            delivery.timestamp,
            &delivery.method,
            url,
            &delivery.body,
        );
        for (name, value) in headers {
            delivery.set_header(&name, &value);
        }
    }
}

fn first_header<'a>(names: &'a [String], request: &Request<'a>) -> Result<(&'a str, &'a [u8]), Rejection> {
    names
        .iter()
        .find_map(|name| Some((name.as_str(), request.headers.get(name)?)))
        .ok_or_else(|| Rejection::SignatureMissing {
            header: names.join("` or `"),
        })
}

fn invalid(header: &str, problem: SignatureProblem) -> Rejection {
    Rejection::SignatureInvalid {
        header: header.to_owned(),
        problem,
    }
}
