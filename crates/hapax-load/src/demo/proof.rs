//! The final count, and how to check it without trusting it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::book::Book;
use crate::sink::Effects;
use crate::workspace::Afterwards;
use hapax_terminal::output;

use super::sender::{Heard, Senders};
use super::{EFFECTS_FILE, STORE_FILE};

/// The result of the demonstration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proof {
    /// Different events that were sent.
    pub sent: u64,
    /// Requests for them, duplicates and retries included.
    pub requests: u64,
    /// Events that the service acknowledged.
    pub accepted: u64,
    /// Acknowledged events whose first answer was lost in a crash: their sender only ever received `duplicate`.
    pub first_answer_lost: u64,
    /// Answers that said `duplicate`.
    pub duplicates: u64,
    /// Requests that reached the sink.
    pub attempts: u64,
    /// Effects that the sink applied, once per `Idempotency-Key`.
    pub effects: u64,
    /// Rows that a `sql` destination wrote, in a table without a constraint that would refuse a second one.
    pub sql_effects: u64,
    /// Events that were answered 2xx and had no effect, at the sink or in the table.
    pub lost: u64,
    /// Effects beyond the first of their event, at the sink or in the table.
    pub doubled: u64,
    /// Events that reached the sink under more than one key.
    pub events_with_several_keys: u64,
    /// Events that were answered `accepted` more than once.
    pub accepted_twice: u64,
    /// Deliveries that were refused, never answered, or answered unexpectedly.
    pub unexpected_answers: u64,
    /// Number of times the service was killed.
    pub kills: usize,
    /// Duration of the run.
    pub seconds: f64,
    /// Whether the guarantee held.
    pub passed: bool,
    #[serde(skip)]
    folder: PathBuf,
    #[serde(skip)]
    book_checks: [String; 2],
}

/// Facts about the run.
pub(super) struct Circumstances<'a> {
    pub(super) kills: usize,
    pub(super) took: Duration,
    /// The folder of the workspace.
    pub(super) folder: &'a Path,
}

impl Proof {
    /// Counts the results.
    pub(super) async fn new(
        senders: &Senders,
        effects: &Effects,
        book: &Book,
        circumstances: &Circumstances<'_>,
    ) -> anyhow::Result<Self> {
        let heard = senders.heard();
        let totals = effects.totals();
        let lines = book.effects().await?;
        let acknowledged = heard
            .iter()
            .enumerate()
            .filter(|(_, heard)| heard.is_acknowledged())
            .map(|(number, _)| senders.event_id(number));
        let mut lost = 0;
        for id in acknowledged {
            lost += u64::from(!effects.has(&id)) + u64::from(!lines.contains_key(&id));
        }
        let sql_effects: u64 = lines.values().sum();
        let proof = Self {
            requests: senders.requests(),
            attempts: totals.attempts + totals.unnamed,
            effects: totals.effects,
            sql_effects,
            lost,
            doubled: (totals.effects - totals.events) + (sql_effects - lines.len() as u64),
            events_with_several_keys: totals.events_with_several_keys,
            kills: circumstances.kills,
            seconds: circumstances.took.as_secs_f64(),
            folder: circumstances.folder.to_owned(),
            book_checks: book.checks(),
            ..Self::of_answers(&heard)
        };
        let complete = effects.record_is_complete() && totals.unnamed == 0;
        Ok(Self {
            passed: proof.holds() && complete,
            ..proof
        })
    }

    fn of_answers(heard: &[Heard]) -> Self {
        let count = |claim: fn(&Heard) -> bool| heard.iter().filter(|heard| claim(heard)).count() as u64;
        let sum = |number: fn(&Heard) -> u32| heard.iter().map(|heard| u64::from(number(heard))).sum();
        Self {
            sent: heard.len() as u64,
            accepted: count(|heard| heard.is_acknowledged()),
            first_answer_lost: count(|heard| heard.accepted == 0 && heard.duplicate > 0),
            duplicates: sum(|heard| heard.duplicate),
            accepted_twice: count(|heard| heard.accepted > 1),
            unexpected_answers: sum(|heard| heard.odd + heard.refused + heard.unanswered),
            ..Self::default()
        }
    }

    fn holds(&self) -> bool {
        let faults = [
            self.lost,
            self.doubled,
            self.events_with_several_keys,
            self.accepted_twice,
            self.unexpected_answers,
            self.sent - self.accepted,
        ];
        faults.iter().all(|fault| *fault == 0)
    }
}

/// Prints the counts for people.
pub fn print(proof: &Proof) -> io::Result<()> {
    let row =
        |name: &str, number: u64, note: String| output::line(format_args!("{name:<12}{number:>9}  {note}"));
    row(
        "sent",
        proof.sent,
        format!(
            "events, in {} requests, through {} kill(s)",
            proof.requests, proof.kills
        ),
    )?;
    let swallowed = match proof.first_answer_lost {
        0 => String::new(),
        count => format!("of these, {count} whose first response was lost in the crash"),
    };
    row("accepted", proof.accepted, swallowed)?;
    row(
        "duplicates",
        proof.duplicates,
        "duplicates that were answered and dropped".to_owned(),
    )?;
    row(
        "attempts",
        proof.attempts,
        "requests at the sink, which fails on purpose".to_owned(),
    )?;
    row(
        "effects",
        proof.effects,
        "applied by the sink, once per Idempotency-Key".to_owned(),
    )?;
    row(
        "sql effects",
        proof.sql_effects,
        "written by a sql destination, to a table without a unique key".to_owned(),
    )?;
    row("lost", proof.lost, String::new())?;
    row("doubled", proof.doubled, String::new())?;
    for (count, what) in [
        (
            proof.events_with_several_keys,
            "events reached the sink under more than one key",
        ),
        (proof.accepted_twice, "events were accepted as new more than once"),
        (
            proof.unexpected_answers,
            "deliveries were refused, not answered, or answered unexpectedly",
        ),
        (proof.sent - proof.accepted, "events were never accepted"),
    ] {
        if count > 0 {
            output::warning(format_args!("{count} {what}"));
        }
    }
    let verdict = if proof.passed {
        "every event took effect exactly once"
    } else {
        "the promise was BROKEN"
    };
    output::line(format_args!("\n{verdict}, in {:.1} s", proof.seconds))
}

/// Prints how to check the result yourself.
pub fn explain(proof: &Proof, afterwards: Afterwards) {
    let folder = proof.folder.display();
    match afterwards {
        Afterwards::Remove => output::note(
            "\nTo check it yourself, run it again with --keep: it then keeps the store and the sink's record, and \
             prints the commands.",
        ),
        Afterwards::Keep => output::note(format_args!(
            "\nCheck it yourself; the first three commands print {sent}, and the last two print nothing:\n  \
             cut -f1 {folder}/{EFFECTS_FILE} | sort -u | wc -l\n  \
             sqlite3 {folder}/{STORE_FILE} 'select count(*) from ledger'\n  \
             {lines}\n  \
             cut -f1 {folder}/{EFFECTS_FILE} | sort | uniq -d\n  \
             {twice}\n\
             View the store with the service itself:\n  \
             hapax serve -c {folder}/hapax.toml &\n  \
             hapax stats -c {folder}/hapax.toml\n  \
             hapax events list -c {folder}/hapax.toml",
            sent = proof.sent,
            lines = proof.book_checks[0],
            twice = proof.book_checks[1],
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(accepted: u32, duplicate: u32) -> Heard {
        Heard {
            accepted,
            duplicate,
            ..Heard::default()
        }
    }

    #[test]
    fn an_event_whose_first_answer_was_swallowed_counts_as_accepted() {
        let proof = Proof::of_answers(&[heard(1, 3), heard(0, 2)]);
        assert_eq!(
            (
                proof.sent,
                proof.accepted,
                proof.first_answer_lost,
                proof.duplicates
            ),
            (2, 2, 1, 5)
        );
        assert!(proof.holds());
    }

    #[test]
    fn anything_that_breaks_the_promise_fails_the_proof() {
        let good = Proof::of_answers(&[heard(1, 0)]);
        assert!(good.holds());
        assert!(
            !Proof {
                lost: 1,
                ..good.clone()
            }
            .holds()
        );
        assert!(
            !Proof {
                doubled: 1,
                ..good.clone()
            }
            .holds()
        );
        assert!(
            !Proof {
                events_with_several_keys: 1,
                ..good
            }
            .holds()
        );
        assert!(!Proof::of_answers(&[heard(2, 0)]).holds());
        assert!(
            !Proof::of_answers(&[Heard {
                refused: 1,
                ..Heard::default()
            }])
            .holds()
        );
        assert!(
            !Proof::of_answers(&[Heard {
                accepted: 1,
                unanswered: 1,
                ..Heard::default()
            }])
            .holds()
        );
    }
}
