//! The steps of a verification, recorded only if an explanation is requested.

use crate::rejection::Rejection;

/// One step of an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was checked, in a word or two.
    pub name: &'static str,
    /// The result of the step.
    pub outcome: StepOutcome,
    /// What was found; never a secret and never the expected signature.
    pub detail: String,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// The check succeeded.
    Passed,
    /// The check failed, and the delivery is refused.
    Failed,
    /// For information only.
    Noted,
}

/// Collects steps, or discards them before they are formatted.
pub(crate) enum Trace<'steps> {
    Off,
    On(&'steps mut Vec<Step>),
}

impl Trace<'_> {
    pub(crate) fn passed(&mut self, name: &'static str, detail: impl FnOnce() -> String) {
        self.add(name, StepOutcome::Passed, detail);
    }

    pub(crate) fn noted(&mut self, name: &'static str, detail: impl FnOnce() -> String) {
        self.add(name, StepOutcome::Noted, detail);
    }

    /// Records the result of a step and returns it.
    pub(crate) fn step<T>(
        &mut self,
        name: &'static str,
        result: Result<T, Rejection>,
        detail: impl FnOnce(&T) -> String,
    ) -> Result<T, Rejection> {
        match &result {
            Ok(value) => self.passed(name, || detail(value)),
            Err(rejection) => self.add(name, StepOutcome::Failed, || rejection.to_string()),
        }
        result
    }

    fn add(&mut self, name: &'static str, outcome: StepOutcome, detail: impl FnOnce() -> String) {
        match self {
            Trace::Off => {}
            Trace::On(steps) => steps.push(Step {
                name,
                outcome,
                detail: detail(),
            }),
        }
    }
}
