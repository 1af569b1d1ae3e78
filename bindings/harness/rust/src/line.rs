//! The lines between the harness and a worker.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use hapax::{Event, Outcome};
use serde::Deserialize;

/// How long a delivery waits for another that holds the same claim.
pub(crate) const WAIT: Duration = Duration::from_millis(100);
/// The effect, which shows when it is applied twice, or not at all.
pub(crate) const WORK: &str = "insert into payments (event_id, language, amount) values ($1, 'rust', 1)";

/// A request of the harness.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    CreateTables,
    Deliver(Delivery),
    GoOn,
}

/// A delivery, and where its handler is to hold.
#[derive(Deserialize)]
pub(crate) struct Delivery {
    event_id: String,
    body: String,
    hold: Option<Place>,
}

/// A place in a handler.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    BeforeWork,
    AfterWork,
}

impl Delivery {
    pub(crate) fn event(&self) -> anyhow::Result<Event> {
        Ok(Event::new("stripe", self.event_id.as_str())?.with_body(self.body.as_bytes()))
    }

    pub(crate) fn event_id(&self) -> &str {
        &self.event_id
    }

    /// Holds if this is the place, until the harness says to go on.
    pub(crate) fn pass(&self, place: Place) -> anyhow::Result<()> {
        if self.hold != Some(place) {
            return Ok(());
        }
        say("held")?;
        match hear()? {
            Some(Request::GoOn) => Ok(()),
            Some(Request::CreateTables | Request::Deliver(_)) | None => {
                anyhow::bail!("told to stop while held")
            }
        }
    }
}

/// The next request; `None` at the end of the input.
pub(crate) fn hear() -> anyhow::Result<Option<Request>> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

pub(crate) fn say(word: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::json!(word))?;
    Ok(output.flush()?)
}

pub(crate) const fn word(outcome: Outcome<()>) -> &'static str {
    match outcome {
        Outcome::Processed(()) => "processed",
        Outcome::Duplicate => "duplicate",
        Outcome::InFlight => "in_flight",
        Outcome::Conflict => "conflict",
    }
}
