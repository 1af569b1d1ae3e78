//! What is known about an event besides its payload: why it is itself, how it was proven, who was refused.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which event it is, and why a copy of it is one.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IdentityView {
    /// The key of the ledger, in hexadecimal: a hash of the scope and the sender's id.
    pub key: String,
    /// Where the id is unique.
    pub scope: String,
    /// The sender's id.
    pub event_id: String,
    /// Where in the request the id is found; null where the source is not configured any more.
    pub rule: Option<String>,
    /// 0, unless the id was forgotten before; null once the ledger has forgotten it.
    pub generation: Option<u32>,
    /// When the first was committed; null once the ledger has forgotten it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_seen: Option<Timestamp>,
    /// When the ledger may forget it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// How long it is still remembered.
    pub window_left_seconds: Option<u64>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// How a request proved that it is genuine.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VerificationView {
    /// What was checked; null where the source is not configured any more.
    pub scheme: Option<String>,
    /// The timestamp under the signature.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub signed_at: Option<Timestamp>,
    /// Milliseconds from the signature to the arrival; below zero where the sender's clock is ahead.
    pub arrived_after_ms: Option<i64>,
    /// Which of the source's secrets matched, counted from 1.
    pub secret_number: Option<u32>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// A request that was refused lately by this process. It holds nothing of the request itself.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RefusalView {
    /// When it arrived.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The status of the answer.
    pub status: u16,
    /// The code of the problem.
    pub code: String,
    /// The problem in words, as the sender was told.
    pub detail: String,
    /// The likely mistake, where it was looked for and found.
    pub likely: Option<String>,
}

/// Two bodies under one id, compared.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DiffView {
    /// What was compared.
    pub kind: DiffKind,
    /// Size of the first body.
    pub first_bytes: u64,
    /// Size of the other body.
    pub other_bytes: u64,
    /// Lines that differ, with a few around them; empty where the bodies are binary.
    pub lines: Vec<DiffLineView>,
    /// Whether lines were left out because a limit was reached.
    pub is_cut: bool,
}

/// How two bodies were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// As JSON, written alike: order of keys and white space are kept out of it.
    Json,
    /// As lines of text.
    Text,
    /// Not at all: at least one is not text.
    Binary,
}

/// One line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffLineView {
    /// Whose line it is.
    pub side: DiffSide,
    /// Its number in the first body.
    pub first_line: Option<u64>,
    /// Its number in the other body.
    pub other_line: Option<u64>,
    /// The line, without its end.
    pub text: String,
}

/// Whose line it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffSide {
    /// Both have it.
    Both,
    /// Only the first has it.
    First,
    /// Only the other has it.
    Other,
}
