//! An event as something to run: the sender's request with this event alone, signed now, or a test that delivers to a
//! handler, twice, what Hapax delivers to it.
//!
//! The event is exact to the byte in all of them. Texts of the sender stand in them only quoted, or in comments without
//! anything that could end the comment.

mod curl;
mod literal;
mod python;
mod resign;
mod rust;
mod typescript;

use hapax_core::store::EventRecord;
use hapax_core::{StoredEvent, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api_error::ApiResult;
use super::show::{HIDDEN, is_hidden};
use super::sight::VisibleRecord;
use super::state::{AdminState, SourceFacts};
use hapax_delivery::destination::BatchHeaders;
use hapax_delivery::outbox::instead_of;
use hapax_delivery::percent::header_value;

/// Headers that speak of the connection, or of proxies on the way.
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

/// What to make of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// A shell script that delivers it to this service, signed now. It holds a signature, so that those who may only read
    /// do not get it; where the proof is a secret itself, a variable takes its place.
    Curl,
    /// A test in Rust, with the standard library alone.
    Rust,
    /// A test for pytest, with the standard library alone.
    Python,
    /// A test for `node --test`.
    Typescript,
}

impl ExportFormat {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Curl, Self::Rust, Self::Python, Self::Typescript];

    /// As it is written in a request.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Typescript => "typescript",
        }
    }

    /// As people read it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Curl => "curl, re-signed",
            Self::Rust => "Rust test",
            Self::Python => "Python test",
            Self::Typescript => "TypeScript test",
        }
    }

    /// The name of a file with it.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Curl => "deliver.sh",
            Self::Rust => "delivered_twice.rs",
            Self::Python => "test_delivered_twice.py",
            Self::Typescript => "delivered-twice.test.ts",
        }
    }
}

/// The text of it.
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
        ExportFormat::Rust => rust::text(&Copy::of(record, facts)),
        ExportFormat::Python => python::text(&Copy::of(record, facts)),
        ExportFormat::Typescript => typescript::text(&Copy::of(record, facts)),
    })
}

/// What a test delivers: the event as destinations get it.
struct Copy<'a> {
    event: &'a StoredEvent,
    headers: Vec<(String, String)>,
}

impl<'a> Copy<'a> {
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
            // Percent-encoded, it is all visible characters.
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

    /// The event in a comment.
    fn title(&self) -> String {
        title(self.event)
    }
}

/// The sender's headers as they hold for this event: those of a batch do not all hold.
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

/// The sender's headers that can be sent again: not those of its connection, and none that is hidden.
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

/// Names an event in a comment.
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
