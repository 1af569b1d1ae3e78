//! What happened to an event in the target database, and how it is reported.

use hapax::Claim;
use hapax_engine::{AttemptResult, Reply};

use super::failure::Failure;
use super::{Job, refused};

/// The result of an inbox claim and of the statements that followed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The statements ran: the number of rows that each of them changed.
    Applied(Vec<u64>),
    /// The inbox already had it; nothing ran.
    Before,
    /// The inbox had another body under this id; nothing ran.
    OtherBody,
}

impl Outcome {
    /// The outcome of a claim; `None` if the statements have to run.
    pub(super) const fn of_claim(claim: Claim) -> Option<Self> {
        match claim {
            Claim::First => None,
            Claim::Again => Some(Self::Before),
            Claim::OtherBody => Some(Self::OtherBody),
        }
    }

    pub(super) fn answer(&self) -> AttemptResult {
        match self {
            Self::Applied(rows) => done(&in_words(rows)),
            Self::Before => done("already applied: hapax_inbox has its row; no statement was run"),
            Self::OtherBody => refused(
                "according to hapax_inbox, this event was applied with another body; no statement was run. Compare the \
                 two: another Hapax with the same scope writes to this database, or the row was imported"
                    .to_owned(),
            ),
        }
    }
}

/// Reports the same failure to all jobs.
pub(super) fn tell_all(jobs: impl IntoIterator<Item = Job>, failure: &Failure) {
    for job in jobs {
        tell(job, failure.answer());
    }
}

/// Reports to the waiting attempt. After a timeout none is waiting, and the inbox tells the next attempt.
pub(super) fn tell(job: Job, answer: AttemptResult) {
    let _ = job.answer.send(answer);
}

fn done(excerpt: &str) -> AttemptResult {
    AttemptResult {
        reply: Reply::Done,
        status: None,
        excerpt: excerpt.to_owned(),
    }
}

fn in_words(rows: &[u64]) -> String {
    let list: Vec<String> = rows.iter().map(u64::to_string).collect();
    let list = list.join(", ");
    if rows.iter().all(|count| *count == 0) {
        format!("rows affected: {list} (no row matched the statements' conditions)")
    } else {
        format!("rows affected: {list}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rows_are_told_and_are_no_failure() {
        let answer = Outcome::Applied(vec![0, 0]).answer();
        assert_eq!(answer.reply, Reply::Done);
        assert!(answer.excerpt.starts_with("rows affected: 0, 0 (no row matched"));
        assert_eq!(
            Outcome::Applied(vec![1, 0]).answer().excerpt,
            "rows affected: 1, 0"
        );
    }

    #[test]
    fn another_body_in_the_inbox_is_never_taken_for_the_same_event() {
        let answer = Outcome::OtherBody.answer();
        assert!(matches!(answer.reply, Reply::Refused { .. }), "{answer:?}");
        assert_eq!(Outcome::of_claim(Claim::OtherBody), Some(Outcome::OtherBody));
    }
}
