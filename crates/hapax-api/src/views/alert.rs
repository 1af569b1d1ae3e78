//! Alerts, rules and receivers.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::alert::State;
use crate::alert::{About, Rule, Unit};

/// Current alerts, enabled rules and configured receivers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AlertsView {
    /// Firing alerts, longest first, followed by resolved alerts with messages that are not delivered yet.
    pub alerts: Vec<AlertView>,
    /// The enabled rules.
    pub rules: Vec<AlertRuleView>,
    /// The configured alert receivers.
    pub receivers: Vec<AlertReceiverView>,
}

/// An alert.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertView {
    /// The rule.
    pub alert: Rule,
    /// The kind of the subject.
    pub about: About,
    /// The name of the source, destination or outbox; `store` for the store.
    pub subject: String,
    /// Whether the alert is firing or resolved.
    pub state: State,
    /// When it started firing.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// When it was resolved.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub resolved_at: Option<Timestamp>,
    /// The value at the last evaluation.
    pub value: f64,
    /// The limit that the value exceeds.
    pub limit: f64,
    /// The unit of `value` and `limit`.
    pub unit: Unit,
    /// A sentence that describes the problem.
    pub sentence: String,
    /// A command that shows more.
    pub command: String,
    /// The page that explains what to do.
    pub guide: String,
    /// Messages that are not delivered yet.
    pub undelivered: Vec<UndeliveredView>,
}

/// A message that has not been delivered yet. Hapax retries it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UndeliveredView {
    /// The name of the receiver.
    pub receiver: String,
    /// The state that the message reports.
    pub says: State,
    /// The number of attempts so far.
    pub tries: u32,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// An enabled rule.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertRuleView {
    /// The rule.
    pub alert: Rule,
    /// The rule fires above this value.
    pub limit: f64,
    /// The unit of `limit`.
    pub unit: Unit,
}

/// A receiver of alerts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertReceiverView {
    /// The receiver's name.
    pub name: String,
    /// `slack`, `webhook` or `command`.
    pub kind: String,
}

/// The results of a test message.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AlertTestView {
    /// One result for each receiver.
    pub results: Vec<AlertTestedView>,
}

/// The result of a test message to one receiver.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertTestedView {
    /// The receiver's name.
    pub receiver: String,
    /// `slack`, `webhook` or `command`.
    pub kind: String,
    /// Whether the message was delivered.
    pub delivered: bool,
    /// Why it was not delivered.
    pub problem: Option<String>,
    /// How long the attempt took.
    pub took_ms: u64,
}
