//! The one place that decides which parts of a stored request a caller may see.
//!
//! No one sees a credential that proves a request by itself: such credentials are no longer stored, and those that
//! earlier versions stored are redacted. The role `read` does not see signatures either: if a provider does not sign
//! its ids, a body and its signature suffice to send it again under another id. Fields that a source redacts are
//! hidden from everyone.

use std::ops::Deref;

use bytes::Bytes;
use hapax_core::store::{ConflictingBody, EventQuery, EventRecord};
use hapax_core::{Headers, SourceName};
use http::header::CONTENT_TYPE;

use super::api_error::{ApiError, ApiResult};
use super::state::{Settings, SourceFacts};
use hapax_config::Role;
use hapax_config::redact::{RedactedField, Redaction};

/// Replaces a redacted value.
pub(crate) const HIDDEN: &str = "***";
/// Headers whose values are credentials. No role may see them.
const HIDDEN_HEADERS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];
/// Words in the names of headers that contain signatures or tokens, even if the source is not verified by them.
const TELLING: [&str; 9] = [
    "apikey",
    "auth",
    "authorization",
    "hmac",
    "password",
    "secret",
    "sig",
    "signature",
    "token",
];

/// An event as a caller may see it. Responses are built from this, never from the stored record.
#[derive(Clone, Debug)]
pub struct VisibleRecord(EventRecord);

impl Deref for VisibleRecord {
    type Target = EventRecord;

    fn deref(&self) -> &EventRecord {
        &self.0
    }
}

/// An event as this role may see it.
pub(crate) fn record(settings: &Settings, role: Role, mut record: EventRecord) -> VisibleRecord {
    let event = &mut record.event;
    let sight = Sight::of(settings, role, &event.source);
    (event.headers, event.body) = sight.request(&event.headers, &event.body);
    VisibleRecord(record)
}

/// A conflicting body as this role may see it.
pub(crate) fn other_body(
    settings: &Settings,
    role: Role,
    mut other_body: ConflictingBody,
) -> ConflictingBody {
    let sight = Sight::of(settings, role, &other_body.source);
    (other_body.headers, other_body.body) = sight.request(&other_body.headers, &other_body.body);
    other_body
}

/// Refuses a search that would reveal the value of a hidden field, unless this role may see it.
pub(crate) fn check_search(settings: &Settings, role: Role, query: &EventQuery) -> ApiResult<()> {
    if role.can_see_proofs() {
        return Ok(());
    }
    for (name, facts) in searched(settings, query) {
        let redaction = hidden_fields(role, facts);
        if let Some(term) = query.body.iter().find(|term| redaction.hides(&term.pointer)) {
            return Err(ApiError::field_redacted(name, &term.pointer));
        }
    }
    Ok(())
}

/// Redacts the values that a query searches for in fields that a source redacts.
pub(crate) fn hide_values(settings: &Settings, query: &mut EventQuery) {
    let redactions: Vec<&Redaction> = searched(settings, query)
        .map(|(_, facts)| &facts.redact)
        .collect();
    for term in &mut query.body {
        if redactions.iter().any(|redaction| redaction.hides(&term.pointer)) {
            HIDDEN.clone_into(&mut term.value);
        }
    }
}

/// Whether the values of a header are credentials.
pub(crate) fn is_hidden(name: &str) -> bool {
    HIDDEN_HEADERS
        .iter()
        .any(|hidden| name.eq_ignore_ascii_case(hidden))
}

/// The sources that a query covers.
fn searched<'a>(
    settings: &'a Settings,
    query: &EventQuery,
) -> impl Iterator<Item = (&'a String, &'a SourceFacts)> {
    let source = query.source.clone();
    let is_searched = move |name: &str| source.as_ref().is_none_or(|source| source.as_str() == name);
    settings.facts.iter().filter(move |(name, _)| is_searched(name))
}

struct Sight<'a> {
    role: Role,
    facts: Option<&'a SourceFacts>,
    credentials: Vec<String>,
    signatures: Vec<String>,
}

impl<'a> Sight<'a> {
    fn of(settings: &'a Settings, role: Role, source: &SourceName) -> Self {
        let facts = settings.facts.get(source.as_str());
        Self {
            role,
            facts,
            credentials: facts
                .map(|facts| facts.recipe.proof.credentials())
                .unwrap_or_default(),
            signatures: facts
                .map(|facts| facts.recipe.proof.headers())
                .unwrap_or_default(),
        }
    }

    fn request(&self, headers: &Headers, body: &Bytes) -> (Headers, Bytes) {
        let shown = headers.iter().map(|(name, value)| {
            if self.hides(&name.to_ascii_lowercase()) {
                (name, HIDDEN.as_bytes())
            } else {
                (name, value)
            }
        });
        (Headers::pack(shown), self.body(headers, body))
    }

    fn body(&self, headers: &Headers, body: &Bytes) -> Bytes {
        let Some(facts) = self.facts else {
            return body.clone();
        };
        let content_type = headers.get(CONTENT_TYPE.as_str());
        let shown = hidden_fields(self.role, facts)
            .apply(body, content_type)
            .into_owned();
        Bytes::from(shown)
    }

    fn hides(&self, name: &str) -> bool {
        let is_one_of = |headers: &[String]| headers.iter().any(|header| header == name);
        is_hidden(name)
            || is_one_of(&self.credentials)
            || (!self.role.can_see_proofs() && (is_one_of(&self.signatures) || is_telling(name)))
    }
}

fn hidden_fields(role: Role, facts: &SourceFacts) -> Redaction {
    let proofs = facts.recipe.proof.body_credentials();
    let proofs = proofs.into_iter().filter(|_| !role.can_see_proofs());
    facts.redact.and(proofs.map(RedactedField::at_top))
}

/// Whether a header's name suggests a credential. For a source that is no longer configured, this is the only
/// indication.
fn is_telling(name: &str) -> bool {
    name.contains("api-key") || name.split(['-', '_']).any(|part| TELLING.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_signatures_and_tokens_are_known_by_their_parts() {
        for name in [
            "x-hub-signature-256",
            "x-shopify-hmac-sha256",
            "x-gitlab-token",
            "paypal-transmission-sig",
            "x-api-key",
            "x_auth",
        ] {
            assert!(is_telling(name), "{name}");
        }
        for name in [
            "x-github-delivery",
            "content-type",
            "x-design",
            "idempotency-key",
            "x-tokenizer",
        ] {
            assert!(!is_telling(name), "{name}");
        }
    }

    #[test]
    fn every_header_that_proves_a_preset_is_hidden_from_readers() {
        for provider in hapax_verify::catalogue::all() {
            let proof = &provider.proof;
            let sight = Sight {
                role: Role::Read,
                facts: None,
                credentials: proof.credentials(),
                signatures: proof.headers(),
            };
            for header in proof.headers() {
                assert!(sight.hides(&header), "{}: {header}", provider.name);
            }
        }
    }
}
