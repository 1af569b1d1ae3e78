//! What a verifier saw on its way, for anyone who asks why; nothing at all where no one does.

use crate::Rejection;

/// One step of an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was looked at, in a word or two.
    pub name: &'static str,
    /// How it went.
    pub outcome: StepOutcome,
    /// What was found; never a secret and never the signature that would have been right.
    pub detail: String,
}

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// As it should be.
    Passed,
    /// Here the delivery is refused.
    Failed,
    /// Worth knowing; refuses nothing.
    Noted,
}

/// Collects steps, or drops them before they are written.
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

    /// Writes down how a step ended, and hands its result on.
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
