//! The result for one delivery, for people and for programs.

use hapax_verify::diagnose::Mistake;
use hapax_verify::{Envelope, Identification, Rejection, Request, Step, StepOutcome, Verification};
use serde_json::{Value, json};

use super::Subject;
use crate::globals::Globals;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

pub(super) struct Report {
    steps: Vec<Step>,
    verification: Result<Verification, Rejection>,
    likely: Option<Mistake>,
}

impl Report {
    pub(super) fn of(subject: &Subject, request: &Request<'_>) -> Self {
        Self {
            steps: subject.verifier.explain(request),
            verification: subject.verifier.verify(request),
            likely: subject.verifier.diagnose(request, &subject.suspects()),
        }
    }

    /// Without its key, nothing is proven.
    pub(super) fn is_valid(&self) -> bool {
        match &self.verification {
            Ok(
                Verification::Events(_)
                | Verification::Handshake(_)
                | Verification::Registration(_)
                | Verification::Confirmation(_),
            ) => true,
            Ok(Verification::NeedsKey(_)) | Err(_) => false,
        }
    }

    pub(super) fn print(&self, globals: &Globals) -> std::io::Result<()> {
        if globals.json {
            return output::json(&self.document());
        }
        output::line(self.text(Reader::of_stdout()))
    }

    fn document(&self) -> Value {
        json!({
            "valid": self.is_valid(),
            "result": self.result(),
            "code": self.verification.as_ref().err().map(Rejection::code),
            "reason": self.verification.as_ref().err().map(ToString::to_string),
            "likely": self.likely.as_ref().map(ToString::to_string),
            "steps": self.steps.iter().map(|step| json!({
                "name": step.name,
                "outcome": word(step.outcome),
                "detail": step.detail,
            })).collect::<Vec<_>>(),
            "events": self.events().iter().map(event).collect::<Vec<_>>(),
        })
    }

    fn text(&self, reader: Reader) -> String {
        let mut steps = Table::new(["step", "result", "detail"]);
        for step in &self.steps {
            steps.row([
                step.name.to_owned(),
                word(step.outcome).to_owned(),
                step.detail.clone(),
            ]);
        }
        let mut lines = vec![steps.render(reader)];
        for event in self.events() {
            let event_type = event.event_type.as_deref().unwrap_or("-");
            lines.push(format!("event {} {event_type}", id(event)));
        }
        lines.push(self.result().to_owned());
        lines.extend(self.likely.iter().map(|mistake| format!("likely: {mistake}")));
        lines.join("\n")
    }

    fn events(&self) -> &[Envelope] {
        match &self.verification {
            Ok(Verification::Events(events)) => events,
            Ok(
                Verification::Handshake(_)
                | Verification::Registration(_)
                | Verification::Confirmation(_)
                | Verification::NeedsKey(_),
            )
            | Err(_) => &[],
        }
    }

    fn result(&self) -> &'static str {
        match &self.verification {
            Ok(Verification::Events(_)) => "valid",
            Ok(Verification::Handshake(_)) => "a handshake, which is answered",
            Ok(Verification::Registration(_)) => {
                "a registration, which is accepted only if an operator opened one"
            }
            Ok(Verification::Confirmation(_)) => "a confirmation, which is called",
            Ok(Verification::NeedsKey(_)) => "undecided: the key is missing; set it with --key",
            Err(_) => "refused",
        }
    }
}

fn word(outcome: StepOutcome) -> &'static str {
    match outcome {
        StepOutcome::Passed => "ok",
        StepOutcome::Failed => "failed",
        StepOutcome::Noted => "note",
    }
}

fn id(event: &Envelope) -> &str {
    match event.identification {
        Identification::ByProvider | Identification::Missing => &event.event_id,
        Identification::Never => "-",
    }
}

fn event(event: &Envelope) -> Value {
    json!({
        "event_id": match event.identification {
            Identification::ByProvider => Some(event.event_id.as_str()),
            Identification::Never | Identification::Missing => None,
        },
        "event_type": event.event_type,
        "deduplicated": event.identification == Identification::ByProvider,
        "signed_at": event.signed_at,
        "secret": event.secret_index.map(|index| index + 1),
        "id_is_signed": event.id_is_signed,
        "batch_index": event.batch_index,
    })
}
