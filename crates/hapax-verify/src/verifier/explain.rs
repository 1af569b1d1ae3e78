//! The same checks as `verify`, one by one, with a sentence for each: why a delivery verifies, or where it fails.

use super::{Located, Verifier};
use crate::identity::Reading;
use crate::{Rejection, Request};

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

impl Verifier {
    /// Explains step by step why the request verifies or not. It ends with the first step that fails, as `verify` does.
    pub fn explain(&self, request: &Request<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        // The rejection is the last step already; there is nothing left to do with it.
        let _ = self.walk(request, &mut steps);
        steps
    }

    fn walk(&self, request: &Request<'_>, steps: &mut Vec<Step>) -> Result<(), Rejection> {
        let located = record(steps, "signature header", self.locate(request), describe)?;
        record(steps, "signed content", Ok(()), |()| {
            let body = request.body.len();
            format!("`{}`, with a body of {body} bytes", self.scheme.signed)
        })?;
        let matching = self.matching_secret(&located);
        record(steps, "signature", matching, |index| {
            format!("made with secret {} of {}", index + 1, self.keys.len())
        })?;
        let time = self.check_time(&located, request);
        record(steps, "timestamp", time, |signed_at| match signed_at {
            Some(at) => format!("signed at {at}, received at {}", request.received_at),
            None => "this scheme signs none, so only the event id protects against replays".to_owned(),
        })?;
        let reading = self.identity.read(request.body);
        if let Reading::Malformed(detail) = &reading {
            note(steps, "body", format!("not readable as JSON: {detail}"));
        }
        let event_id = self.identity.event_id(request, &reading);
        record(steps, "event id", event_id, String::clone)?;
        if !self.identity.id_is_signed() {
            note(
                steps,
                "event id",
                "the signature does not cover it, so a replayer could change it".to_owned(),
            );
        }
        let event_type = self.identity.event_type(request, &reading);
        note(
            steps,
            "event type",
            event_type.unwrap_or_else(|| "none".to_owned()),
        );
        Ok(())
    }
}

fn describe(located: &Located<'_>) -> String {
    let count = located.candidates.count();
    format!(
        "`{}` holds {count} signature(s) of a known version",
        located.header
    )
}

fn record<T>(
    steps: &mut Vec<Step>,
    name: &'static str,
    result: Result<T, Rejection>,
    describe: impl FnOnce(&T) -> String,
) -> Result<T, Rejection> {
    let (outcome, detail) = match &result {
        Ok(value) => (StepOutcome::Passed, describe(value)),
        Err(rejection) => (StepOutcome::Failed, rejection.to_string()),
    };
    steps.push(Step {
        name,
        outcome,
        detail,
    });
    result
}

fn note(steps: &mut Vec<Step>, name: &'static str, detail: String) {
    steps.push(Step {
        name,
        outcome: StepOutcome::Noted,
        detail,
    });
}
