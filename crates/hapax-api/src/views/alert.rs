//! Alerts: what fires, what is judged, who is told.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::alert::State;
use crate::alert::{About, Rule, Unit};

/// What fires, what is judged, who is told.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AlertsView {
    /// What fires, the longest first; then what is over and has messages that are not delivered yet.
    pub alerts: Vec<AlertView>,
    /// The rules that are switched on.
    pub rules: Vec<AlertRuleView>,
    /// Who is told.
    pub receivers: Vec<AlertReceiverView>,
}

/// One alert.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertView {
    /// Its rule.
    pub alert: Rule,
    /// What the subject is.
    pub about: About,
    /// The source or destination; `store` for the store.
    pub subject: String,
    /// Whether it fires, or is over.
    pub state: State,
    /// Since when it fires, or fired.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Since when it is over.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub resolved_at: Option<Timestamp>,
    /// The figure, when it was last judged.
    pub value: f64,
    /// The limit that it is above.
    pub limit: f64,
    /// What both are.
    pub unit: Unit,
    /// What is wrong, in a sentence.
    pub sentence: String,
    /// What to run to see more.
    pub command: String,
    /// Where it is explained what to do.
    pub guide: String,
    /// Messages that are not delivered yet.
    pub undelivered: Vec<UndeliveredView>,
}

/// A message that is not delivered yet. It is sent again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UndeliveredView {
    /// To whom.
    pub receiver: String,
    /// What it says.
    pub says: State,
    /// How often it was tried.
    pub tries: u32,
    /// Why the last try failed.
    pub error: Option<String>,
}

/// A rule that is switched on.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertRuleView {
    /// Its name.
    pub alert: Rule,
    /// Above this it fires.
    pub limit: f64,
    /// What the limit is.
    pub unit: Unit,
}

/// Someone who is told.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertReceiverView {
    /// Its name.
    pub name: String,
    /// `slack`, `webhook` or `command`.
    pub kind: String,
}

/// What came of a test.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AlertTestView {
    /// One for each receiver that was told.
    pub results: Vec<AlertTestedView>,
}

/// What came of telling one receiver.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlertTestedView {
    /// Its name.
    pub receiver: String,
    /// `slack`, `webhook` or `command`.
    pub kind: String,
    /// Whether it arrived.
    pub delivered: bool,
    /// Why it did not.
    pub problem: Option<String>,
    /// How long it took.
    pub took_ms: u64,
}
