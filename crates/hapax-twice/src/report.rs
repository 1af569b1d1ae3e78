//! The report: what each plan found on each event, as a table with explanations, as JSON and as JUnit.

mod junit;
mod text;

pub(crate) use text::change_lines;

use hapax_verify::catalogue::Provider;
use serde::Serialize;

use crate::effect::Change;
use crate::finding::Finding;
use crate::plan::Plan;

/// What a run found. Its `Display` is for people, and its serialisation for programs.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Who the deliveries were signed as.
    pub provider: String,
    /// The events, and what one delivery of each changes.
    pub events: Vec<EventSummary>,
    /// The result of each plan on each event, in the order in which they were tried.
    pub results: Vec<PlanResult>,
}

/// An event, and what one delivery of it changes.
#[derive(Debug, Clone, Serialize)]
pub struct EventSummary {
    /// The name of its file.
    pub name: String,
    /// What one delivery changes in the snapshot.
    pub change: Change,
}

/// What a plan found on an event.
#[derive(Debug, Clone, Serialize)]
pub struct PlanResult {
    /// Which plan.
    pub plan: Plan,
    /// Which event, or which two.
    pub event: String,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: PlanOutcome,
}

/// What became of a plan.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PlanOutcome {
    /// Copies had no consequences.
    Passed {
        /// What should be known about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A fault was found.
    Failed(Finding),
    /// The plan does not apply here.
    Skipped {
        /// Why.
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

    /// Ends a test with the whole report where a plan failed.
    ///
    /// # Panics
    ///
    /// If a plan failed.
    pub fn assert(&self) {
        assert!(self.passed(), "\n{self}");
    }

    /// The report as a JUnit file, which test runners show.
    pub fn junit(&self) -> String {
        junit::render(self)
    }
}
