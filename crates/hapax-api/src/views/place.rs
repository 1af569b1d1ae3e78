//! Where events come from and where they go.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::RefusalView;

/// Every source.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourcesView {
    /// In order of their names.
    pub sources: Vec<SourceView>,
}

/// A source as it is configured.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceView {
    /// Its name; webhooks arrive at `/in/NAME`.
    pub name: String,
    /// Its preset; null where it says itself how it signs.
    pub provider: Option<String>,
    /// Where its ids are unique.
    pub scope: String,
    /// The names of the destinations that get its events.
    pub deliver_to: Vec<String>,
    /// How many secrets it verifies with.
    pub secrets: usize,
    /// How long the ledger remembers an id.
    pub ledger_window_seconds: u64,
    /// How long payloads are kept.
    pub payload_retention_seconds: u64,
    /// How long the payload of a dead letter is kept.
    pub dead_retention_seconds: u64,
    /// JSON pointers into its bodies whose values a search looks up.
    #[serde(default)]
    pub indexed: Vec<String>,
    /// How it proves that its requests are genuine, in words; null for an outbox.
    #[serde(default)]
    pub scheme: Option<String>,
    /// Where the id of an event is found; null for an outbox.
    #[serde(default)]
    pub event_id_rule: Option<String>,
    /// What its ids are worth: `own-id`, `content` or `not-deduplicated`; null for an outbox.
    #[serde(default)]
    pub id_class: Option<String>,
    /// What a known id with another content is: `quarantine` or `accept`; null for an outbox.
    #[serde(default)]
    pub on_conflict: Option<String>,
    /// The URL to enter at the sender; null without a `public_url` of the source or the server.
    #[serde(default)]
    pub console_url: Option<String>,
    /// Whether its sender hands over the secret that it signs with.
    #[serde(default)]
    pub takes_registrations: bool,
    /// The last requests of it that this process refused, newest first.
    #[serde(default)]
    pub refusals: Vec<RefusalView>,
}

/// A registration that is open.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegistrationView {
    /// The source that takes a secret.
    pub source: String,
    /// Until when.
    #[schema(value_type = String, format = DateTime)]
    pub open_until: Timestamp,
}

/// Every destination, also one that is not configured any more and still has work.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationsView {
    /// In order of their names.
    pub destinations: Vec<DestinationView>,
}

/// A destination and how it is doing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationView {
    /// Its name; its id, where it is not configured any more.
    pub name: String,
    /// Its stable id.
    pub id: String,
    /// `http`, `command` or `sql`; null where it is not configured any more.
    pub kind: Option<String>,
    /// Where it leads, without credentials.
    pub target: Option<String>,
    /// Whether the configuration has it.
    pub configured: bool,
    /// Who paused it, when and why.
    pub paused: Option<PauseView>,
    /// How long its breaker stays open; null while it is closed.
    pub breaker_open_ms: Option<u64>,
    /// Attempts that run in this process now.
    pub running: u32,
    /// At most this many at once in this process.
    pub concurrency: u32,
}

/// A pause.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PauseView {
    /// The destination's stable id.
    pub destination_id: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who said so.
    pub by: String,
    /// Why.
    pub why: String,
}

/// A destination that gets work again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResumedView {
    /// The destination's stable id.
    pub destination_id: String,
    /// Whether it was paused before.
    pub was_paused: bool,
}
