//! Exports an event as a runnable program: the provider's request with this event alone, signed now, or a test that
//! delivers the event to a handler twice, as Hapax would.
//!
//! The event is exact to the byte in every format. Strings from the provider appear only quoted, or in comments
//! without characters that could end the comment.

mod curl;
mod literal;
mod pytest;
mod python;
mod resign;
mod rust;
mod signing_test;
mod typescript;
mod vitest;

use hapax_core::store::EventRecord;
use hapax_core::{StoredEvent, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api_error::ApiResult;
use super::sight::VisibleRecord;
use super::sight::{HIDDEN, is_hidden};
use super::state::{AdminState, SourceFacts};
use hapax_delivery::destination::BatchHeaders;
use hapax_delivery::outbox::instead_of;
use hapax_delivery::percent::header_value;
use signing_test::SigningTest;

/// Headers that concern the connection or proxies.
const OF_CONNECTION: [&str; 13] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// A shell script that delivers the event to this service, signed now. It contains a signature, so it requires
    /// more than the role `read`. If the credential is the secret itself, a variable replaces it.
    Curl,
    /// A test in Rust that uses only the standard library.
    Rust,
    /// A test for pytest that uses only the standard library.
    Python,
    /// A test for `node --test`.
    Typescript,
    /// A test for pytest that signs the event with the package `hapax-webhooks` and compares its effects.
    Pytest,
    /// A test for Vitest that signs the event with the package `hapax-webhooks` and compares its effects.
    Vitest,
}

impl ExportFormat {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::Curl,
        Self::Rust,
        Self::Python,
        Self::Typescript,
        Self::Pytest,
        Self::Vitest,
    ];

    /// The name of the format in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Typescript => "typescript",
            Self::Pytest => "pytest",
            Self::Vitest => "vitest",
        }
    }

    /// The name of the format for display.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Curl => "curl, re-signed",
            Self::Rust => "Rust test",
            Self::Python => "Python test",
            Self::Typescript => "TypeScript test",
            Self::Pytest => "pytest with effects",
            Self::Vitest => "Vitest with effects",
        }
    }

    /// The name of the exported file.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Curl => "deliver.sh",
            Self::Rust => "delivered_twice.rs",
            Self::Python => "test_delivered_twice.py",
            Self::Typescript => "delivered-twice.test.ts",
            Self::Pytest => "test_takes_effect_once.py",
            Self::Vitest => "takes-effect-once.test.ts",
        }
    }
}

/// The exported program.
pub fn text(
    state: &AdminState,
    record: &VisibleRecord,
    format: ExportFormat,
    now: Timestamp,
) -> ApiResult<String> {
    let event = &record.event;
    let settings = state.settings.load();
    let facts = settings.facts.get(event.source.as_str());
    Ok(match format {
        ExportFormat::Curl => curl::text(event, &resign::request(event, facts, now)?, now),
        ExportFormat::Rust => rust::text(&ExportedEvent::of(record, facts)),
        ExportFormat::Python => python::text(&ExportedEvent::of(record, facts)),
        ExportFormat::Typescript => typescript::text(&ExportedEvent::of(record, facts)),
        ExportFormat::Pytest => pytest::text(&SigningTest::of(event, facts)),
        ExportFormat::Vitest => vitest::text(&SigningTest::of(event, facts)),
    })
}

/// What a test delivers: the event as destinations receive it.
struct ExportedEvent<'a> {
    event: &'a StoredEvent,
    headers: Vec<(String, String)>,
}

impl<'a> ExportedEvent<'a> {
    fn of(record: &'a EventRecord, facts: Option<&SourceFacts>) -> Self {
        let event = &record.event;
        let mut headers = event_headers(event, facts);
        headers.retain(|(name, _)| !name.starts_with("hapax-") && name != "idempotency-key");
        let key = record.deliveries.first().map_or_else(
            || format!("{:?}", event.identity.key()),
            |delivery| delivery.idempotency_key.to_string(),
        );
        headers.push(("idempotency-key".to_owned(), key));
        headers.push(("hapax-source".to_owned(), event.source.to_string()));
        let mut push = |name: &str, text: &str| {
            // Percent-encoded, so it contains only visible characters.
            let value = header_value(text);
            headers.push((
                name.to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            ));
        };
        push("hapax-event-id", &event.identity.event_id);
        if let Some(event_type) = &event.event_type {
            push("hapax-event-type", event_type);
        }
        push("hapax-received-at", &event.received_at.to_string());
        if let Some((batch, index)) = event.batch {
            push("hapax-batch-id", &batch.to_string());
            push("hapax-batch-index", &index.to_string());
        }
        Self { event, headers }
    }

    /// The event's title for a comment.
    fn title(&self) -> String {
        title(self.event)
    }
}

/// The provider's headers that apply to this event: those of a batch do not all apply.
fn event_headers(event: &StoredEvent, facts: Option<&SourceFacts>) -> Vec<(String, String)> {
    let mut headers = sent_headers(event);
    let Some(facts) = facts else {
        return headers;
    };
    if event.batch.is_none() {
        return headers;
    }
    let batch = BatchHeaders::of(&facts.recipe);
    headers.retain(|(name, _)| !batch.proves_whole(name));
    if let Some(content_type) = batch.event_content_type {
        headers.retain(|(name, _)| name != "content-type");
        headers.push(("content-type".to_owned(), content_type));
    }
    headers
}

/// The provider's headers that can be sent again: without those of its connection and redacted ones.
fn sent_headers(event: &StoredEvent) -> Vec<(String, String)> {
    let headers = event.headers.iter().filter_map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let is_plain = value.iter().all(|byte| (b' '..=b'~').contains(byte));
        let value = std::str::from_utf8(value).ok().filter(|_| is_plain)?;
        let is_left_out = OF_CONNECTION.contains(&name.as_str())
            || is_hidden(&name)
            || instead_of(&event.source, &name, value.as_bytes()).is_some()
            || value == HIDDEN
            || name.starts_with("proxy-")
            || name.starts_with("x-forwarded-");
        (!is_left_out).then(|| (name, value.to_owned()))
    });
    headers.collect()
}

/// Describes an event in a comment.
fn title(event: &StoredEvent) -> String {
    let event_type = event.event_type.as_deref().unwrap_or("no type");
    format!(
        "Event {} ({}) of {}",
        literal::in_comment(&event.identity.event_id),
        literal::in_comment(event_type),
        literal::in_comment(event.source.as_str())
    )
}

#[cfg(test)]
mod tests;
