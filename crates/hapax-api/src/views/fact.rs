//! What is known about an event beyond its payload: its identity, its verification, and refused requests.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The identity of an event, and why duplicates of it are recognized.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IdentityView {
    /// The ledger key, in hexadecimal: a hash of the scope and the provider's id.
    pub key: String,
    /// The scope in which the id is unique.
    pub scope: String,
    /// The provider's id.
    pub event_id: String,
    /// Where in the request the id is read from; null if the source is no longer configured.
    pub rule: Option<String>,
    /// 0 unless the id was forgotten before; null once the ledger has forgotten it.
    pub generation: Option<u32>,
    /// When the first event was committed; null once the ledger has forgotten the id.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_seen: Option<Timestamp>,
    /// When the ledger may forget the id.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// How long the ledger still remembers the id.
    pub window_left_seconds: Option<u64>,
    /// A sentence that explains the identity.
    pub sentence: String,
}

/// How a request was verified.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VerificationView {
    /// The verification scheme; null if the source is no longer configured.
    pub scheme: Option<String>,
    /// The signed timestamp.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub signed_at: Option<Timestamp>,
    /// Milliseconds from the signature to the arrival; negative if the provider's clock is ahead.
    pub arrived_after_ms: Option<i64>,
    /// The number of the source's secret that matched, counted from 1.
    pub secret_number: Option<u32>,
    /// A sentence that explains the verification.
    pub sentence: String,
}

/// A request that this process refused recently. It contains nothing of the request itself.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RefusalView {
    /// When it arrived.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The HTTP status of the response.
    pub status: u16,
    /// The problem code.
    pub code: String,
    /// The detail of the problem, as the client received it.
    pub detail: String,
    /// The likely mistake, if Hapax found one.
    pub likely: Option<String>,
}

/// A comparison of two bodies with the same id.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DiffView {
    /// How the bodies were compared.
    pub kind: DiffKind,
    /// The size of the first body.
    pub first_bytes: u64,
    /// The size of the other body.
    pub other_bytes: u64,
    /// Lines that differ, with some context; empty if a body is binary.
    pub lines: Vec<DiffLineView>,
    /// Whether lines were omitted because a limit was reached.
    pub is_cut: bool,
}

/// How two bodies were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// As JSON in a normalized form: the order of keys and white space do not matter.
    Json,
    /// As lines of text.
    Text,
    /// Not compared: at least one of them is not text.
    Binary,
}

/// One line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffLineView {
    /// The body that contains the line.
    pub side: DiffSide,
    /// The line number in the first body.
    pub first_line: Option<u64>,
    /// The line number in the other body.
    pub other_line: Option<u64>,
    /// The line, without its line ending.
    pub text: String,
}

/// The body that contains a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffSide {
    /// Both bodies.
    Both,
    /// Only the first body.
    First,
    /// Only the other body.
    Other,
}
