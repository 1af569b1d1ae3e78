//! A signature described by data: a [`Scheme`] and secrets, compiled.
//!
//! The order is fixed: find the signature, verify it over the raw bytes, then check its timestamp. Because the
//! signature is verified first, `timestamp_out_of_range` always means a genuine but late (or early) delivery, never a
//! forged one.

mod border;
mod candidates;
mod content;
mod headers;
mod keys;
mod signer;
mod timestamp;

pub(super) use headers::sent_name;
pub use signer::Signer;

use candidates::Candidates;
use content::Content;
use headers::first_present;
use keys::VerifyingKey;

use super::{Prove, Proven, Setup, Stop, instant, invalid};
use crate::delivery::{Delivery, Sign};
use crate::identity::{Origin, Pointers, ValuePath};
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::scheme::{NamedKeys, Part, Scheme, TimestampPath, TimestampRule};
use crate::setup::SetupError;
use crate::trace::Trace;

pub(crate) struct SignatureProof {
    scheme: Scheme,
    keys: Vec<VerifyingKey>,
    /// The URL that the provider calls, if it differs from the service's public URL.
    url: Option<String>,
    /// The pointer to the time, if it is in the body.
    time_in_body: Pointers,
}

/// The parsed signature header of a request.
struct Located<'a> {
    header: &'a str,
    candidates: Candidates,
    content: Content<'a>,
}

impl SignatureProof {
    pub(super) fn new(mut scheme: Scheme, setup: &Setup<'_>) -> Result<Self, SetupError> {
        scheme.check()?;
        if let Some(rule) = &mut scheme.timestamp {
            rule.tolerance_seconds = instant::tolerance(setup.options, rule.tolerance_seconds)?;
        }
        let keys = keys::verifying_keys(&scheme, setup)?;
        let url = scheme
            .url_option
            .as_deref()
            .and_then(|name| setup.options.text(name));
        let url = url.map(str::to_owned);
        let mut time_in_body = Pointers::default();
        if let Some(TimestampPath::Body(pointer)) = scheme.timestamp.as_ref().map(|rule| &rule.path) {
            time_in_body.add(pointer)?;
        }
        Ok(SignatureProof {
            scheme,
            keys,
            url,
            time_in_body,
        })
    }

    /// Finds the signatures and everything that they cover; reads headers only.
    fn locate<'a>(&'a self, request: &Request<'a>) -> Result<Located<'a>, Rejection> {
        let found = headers::read(&self.scheme, request)?;
        let header = found.name;
        let timestamp = match self.scheme.timestamp.as_ref().map(|rule| &rule.path) {
            None | Some(TimestampPath::Body(_)) => None,
            Some(TimestampPath::Headers(names)) => Some(first_present(names, request)?.1),
            Some(TimestampPath::Key(key)) => Some(
                candidates::value_of(&self.scheme, found.value, key)
                    .ok_or_else(|| invalid(header, SignatureProblem::TimestampMissing))?,
            ),
        };
        let id = match self.scheme.id_headers.as_slice() {
            [] => None,
            names => Some(first_present(names, request)?.1),
        };
        let url = self.url.as_deref().unwrap_or(request.url);
        let content = Content::new(&self.scheme.signed, request, url, id, timestamp)
            .map_err(|fault| fault.into_rejection(header))?;
        border::check(&self.scheme, &content).map_err(|problem| invalid(header, problem))?;
        Ok(Located {
            header,
            candidates: found.candidates,
            content,
        })
    }

    /// The first key that made any of the signatures.
    fn matching_key(&self, located: &Located<'_>, request: &Request<'_>) -> Result<&VerifyingKey, Rejection> {
        let named = self.scheme.named_keys.as_ref();
        let name = named.and_then(|named| request.headers.get(&named.header));
        let mut problem = SignatureProblem::NoKnownVersion;
        let mut eligible = self.keys.iter().filter(|key| key.is_for(name)).peekable();
        if eligible.peek().is_none() {
            return Err(self.no_key(located, named));
        }
        for key in eligible.filter(|key| located.candidates.has_kind(key.kind())) {
            if key.matches(&located.content, &located.candidates) {
                return Ok(key);
            }
            problem = SignatureProblem::Mismatch;
        }
        Err(invalid(located.header, problem))
    }

    fn no_key(&self, located: &Located<'_>, named: Option<&NamedKeys>) -> Rejection {
        match named {
            Some(named) if !self.keys.is_empty() => Rejection::KeyRefused {
                problem: format!("`{}` is none of `{}`", named.header, named.option),
            },
            Some(_) | None => invalid(located.header, SignatureProblem::NoSecret),
        }
    }

    /// The signed time, if it is close enough to the time of arrival.
    fn check_time(&self, located: &Located<'_>, request: &Request<'_>) -> Result<Option<i64>, Rejection> {
        let Some(rule) = &self.scheme.timestamp else {
            return Ok(None);
        };
        match (&rule.path, located.content.timestamp()) {
            (TimestampPath::Body(_), _) => self.check_time_in_body(rule, request).map(Some),
            (TimestampPath::Headers(_) | TimestampPath::Key(_), text) => {
                timestamp::check(rule, text.unwrap_or_default(), request.received_at).map(Some)
            }
        }
    }

    /// Only a verified body is parsed.
    fn check_time_in_body(&self, rule: &TimestampRule, request: &Request<'_>) -> Result<i64, Rejection> {
        let extracted = self.time_in_body.extract(request.body).ok();
        let text = extracted.and_then(|extracted| extracted.scalar(0).ok().flatten());
        timestamp::check(rule, text.unwrap_or_default().as_bytes(), request.received_at)
    }
}

impl Prove for SignatureProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let located = trace.step("signature header", self.locate(request), |located| {
            let count = located.candidates.count();
            format!(
                "`{}` contains {count} signature(s) of a known version",
                located.header
            )
        })?;
        trace.passed("signed content", || {
            let body = request.body.len();
            format!("`{}`, with a body of {body} bytes", self.scheme.signed)
        });
        let key = trace.step("signature", self.matching_key(&located, request), |key| match key
            .secret_index()
        {
            Some(index) => format!("made with secret {}", index + 1),
            None => "made with a key of the source's options".to_owned(),
        })?;
        let time = self.check_time(&located, request);
        let signed_at = trace.step("timestamp", time, |signed_at| match signed_at {
            Some(at) => format!("signed at {at}, received at {}", request.received_at),
            None => "this scheme signs none, so only the event id protects against replays".to_owned(),
        })?;
        Ok(Proven {
            secret_index: key.secret_index(),
            signed_at,
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        first_present(&self.scheme.headers, request).is_ok()
    }

    fn covers(&self, place: &ValuePath) -> bool {
        let signed = &self.scheme.signed;
        match place.origin() {
            Origin::Header(name) => {
                // If `{id}` reads only one header, that header is covered.
                let is_id = signed.parts().contains(&Part::Id) && self.scheme.id_headers.as_slice() == [name];
                is_id || signed.covers_header(name)
            }
            Origin::Url => signed.covers_url(),
            Origin::Body => signed.covers_body(),
        }
    }

    /// `{id}` covers the first of its headers that is present, so the id must be read from the same headers in the same
    /// order.
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
        key_name: key_name(scheme, secret, options),
    }))
}

/// The header that names this secret's key, and the key's name.
fn key_name(scheme: &Scheme, secret: &str, options: &Options) -> Option<(String, String)> {
    let named = scheme.named_keys.as_ref()?;
    let mut keys = options.table(&named.option)?.iter();
    let (name, _) = keys.find(|(_, key)| *key == secret)?;
    Some((named.header.clone(), name.clone()))
}

struct SchemeSigner {
    signer: Signer,
    url: Option<String>,
    key_name: Option<(String, String)>,
}

impl SchemeSigner {
    /// A provider that puts the time into the body updates it for each attempt. A body without it is not changed.
    fn stamp(&self, delivery: &mut Delivery) -> Option<()> {
        let (pointer, time) = self.signer.time_in_body(delivery.timestamp)?;
        let mut pointers = Pointers::default();
        let slot = pointers.add(pointer).ok()?;
        let place = pointers
            .extract(&delivery.body)
            .ok()?
            .range(slot, &delivery.body)?;
        delivery.body.splice(place, time.into_bytes());
        Some(())
    }
}

impl Sign for SchemeSigner {
    fn sign(&self, delivery: &mut Delivery) {
        // The body may have no time to update.
        let _ = self.stamp(delivery);
        let url = self.url.as_deref().unwrap_or(&delivery.url);
        let headers = self.signer.sign(
            &delivery.id,
            delivery.timestamp,
            &delivery.method,
            url,
            &delivery.body,
        );
        for (name, value) in headers.iter().chain(&self.key_name) {
            delivery.set_header(name, value);
        }
    }
}
