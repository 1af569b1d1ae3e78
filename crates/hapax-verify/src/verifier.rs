//! The verifier: a scheme, an identity rule and secrets, compiled once and used for every request.
//!
//! The order is fixed: find the signature, check it over the raw bytes, check the time it was made at, and only then
//! read the body. A timestamp is judged after the signature, so `timestamp_out_of_range` always means a genuine but late
//! (or early) delivery, never a forged one.

mod candidates;
mod content;
mod explain;
mod keys;
mod timestamp;

pub(crate) use content::{Content, concatenate};
pub use explain::{Step, StepOutcome};
pub(crate) use keys::{hmac_algorithm, tag};

use candidates::Candidates;
use keys::VerifyingKey;

use crate::identity::CompiledRule;
use crate::scheme::TimestampPlace;
use crate::{Envelope, IdentityRule, Rejection, Request, Scheme, SetupError, SignatureProblem, Verdict};

/// Verifies and identifies the requests of one source.
pub struct Verifier {
    scheme: Scheme,
    keys: Vec<VerifyingKey>,
    identity: CompiledRule,
}

/// The signature header of a request, taken apart.
pub(crate) struct Located<'a> {
    header: &'a str,
    candidates: Candidates,
    content: Content<'a>,
}

impl Verifier {
    /// Compiles a verifier. Any of the secrets may match, which is what makes rotation possible without a gap.
    pub fn new<S: AsRef<str>>(
        scheme: Scheme,
        identity: IdentityRule,
        secrets: &[S],
    ) -> Result<Self, SetupError> {
        scheme.check()?;
        let keys = keys::verifying_keys(&scheme, secrets)?;
        let identity = CompiledRule::new(identity, &scheme)?;
        Ok(Verifier {
            scheme,
            keys,
            identity,
        })
    }

    /// Says what the request is, or why it is refused.
    pub fn verify(&self, request: &Request<'_>) -> Result<Verdict, Rejection> {
        let located = self.locate(request)?;
        let secret_index = self.matching_secret(&located)?;
        let signed_at = self.check_time(&located, request)?;
        let reading = self.identity.read(request.body);
        let event_id = self.identity.event_id(request, &reading)?;
        Ok(Verdict::Events(vec![Envelope {
            event_id,
            event_type: self.identity.event_type(request, &reading),
            signed_at,
            secret_index: Some(secret_index),
            id_is_signed: self.identity.id_is_signed(),
            deduplicated: true,
            body: None,
            content_hash_rule: None,
            batch_index: None,
        }]))
    }

    /// Whether the signature covers the event id. Where it does not, a replayer can give an old body a new id.
    pub fn id_is_signed(&self) -> bool {
        self.identity.id_is_signed()
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
        let content = Content::new(&self.scheme.signed, request, id, timestamp)
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
        let problem = if known_version {
            SignatureProblem::Mismatch
        } else {
            SignatureProblem::NoKnownVersion
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

impl std::fmt::Debug for Verifier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The keys are left out on purpose.
        formatter
            .debug_struct("Verifier")
            .field("scheme", &self.scheme)
            .field("secrets", &self.keys.len())
            .finish_non_exhaustive()
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
