//! The report: the result of each plan for each event, as a table with explanations, as JSON and as JUnit.

mod junit;
mod text;

pub(crate) use text::change_lines;

use hapax_verify::catalogue::Provider;
use serde::Serialize;

use crate::effect::Change;
use crate::finding::Finding;
use crate::plan::Plan;

/// The result of a run. Its `Display` is for people, and its serialisation for programs.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The provider that the deliveries were signed as.
    pub provider: String,
    /// The events, and the changes made by one delivery of each.
    pub events: Vec<EventSummary>,
    /// The result of each plan for each event, in the order in which they were run.
    pub results: Vec<PlanResult>,
}

/// An event, and the changes made by one delivery of it.
#[derive(Debug, Clone, Serialize)]
pub struct EventSummary {
    /// The name of its file.
    pub name: String,
    /// The changes that one delivery makes in the snapshot.
    pub change: Change,
}

/// The result of a plan for an event.
#[derive(Debug, Clone, Serialize)]
pub struct PlanResult {
    /// The plan that was run.
    pub plan: Plan,
    /// The name of the event, or of both.
    pub event: String,
    /// The outcome of the plan.
    #[serde(flatten)]
    pub outcome: PlanOutcome,
}

/// The outcome of a plan.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PlanOutcome {
    /// Duplicates had no effect.
    Passed {
        /// A remark about the result.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A fault was found.
    Failed(Finding),
    /// The plan does not apply.
    Skipped {
        /// Why it does not apply.
        reason: String,
    },
}

impl Report {
    pub(crate) fn new(provider: &Provider, events: &[(String, Change)]) -> Self {
        let summary = |(name, change): &(String, Change)| EventSummary {
            name: name.clone(),
            change: change.clone(),
        };
        Self {
            provider: provider.name.clone(),
            events: events.iter().map(summary).collect(),
            results: Vec::new(),
        }
    }

    /// Whether no plan failed.
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The plans that failed.
    pub fn failures(&self) -> impl Iterator<Item = (&PlanResult, &Finding)> {
        self.results.iter().filter_map(|result| match &result.outcome {
            PlanOutcome::Failed(finding) => Some((result, finding)),
            PlanOutcome::Passed { .. } | PlanOutcome::Skipped { .. } => None,
        })
    }

    /// Fails a test with the whole report if a plan failed.
    ///
    /// # Panics
    ///
    /// If a plan failed.
    pub fn assert(&self) {
        assert!(self.passed(), "\n{self}");
    }

    /// The report as a JUnit file, for test runners.
    pub fn junit(&self) -> String {
        junit::render(self)
    }
}
