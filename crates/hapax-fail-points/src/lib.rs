//! Points at which a test can kill this process, and a clock that a test can shift. Compiled only with the feature
//! `fail-points`; the released binary contains none of it.
//!
//! The variable `HAPAX_FAULTS` names a folder. Its file `kill`, for example `accept.after_store 3`, ends the process
//! with SIGKILL the third time that point is reached. Its file `clock` shifts the wall clock by the number of seconds
//! in it.

mod clock;
mod kill;

use std::path::PathBuf;

pub use clock::MovableClock;
pub use kill::listen;

/// The environment variable that names the folder.
pub const FOLDER: &str = "HAPAX_FAULTS";
/// The file that says at which point to kill the process.
pub const KILL_FILE: &str = "kill";
/// The file with the wall clock's offset, in seconds.
pub const CLOCK_FILE: &str = "clock";

/// A point in the code where a crash matters.
#[derive(Clone, Copy, Debug)]
pub struct FailPoint {
    /// The name, as in the code.
    pub name: &'static str,
    /// The state that a crash at this point leaves behind.
    pub leaves: &'static str,
}

/// Every fail point, in the order in which an event reaches them.
pub const ALL: [FailPoint; 21] = [
    point(
        "accept.before_store",
        "nothing: the provider got no response and retries",
    ),
    point(
        "sqlite.before_commit",
        "a transaction that was not committed: nothing of it was written",
    ),
    point(
        "sqlite.after_commit",
        "a transaction that was not reported to anyone",
    ),
    point(
        "postgres.before_commit",
        "a transaction that the server rolls back",
    ),
    point(
        "postgres.after_commit",
        "a committed transaction whose result was not reported",
    ),
    point("redis.before_script", "nothing: the script was not sent"),
    point(
        "redis.after_script",
        "everything that the script wrote; its result was not reported",
    ),
    point(
        "accept.after_store",
        "the event and its deliveries; the provider retries and gets `duplicate`",
    ),
    point("accept.before_answer", "the same, for a part of the batch"),
    point(
        "dispatch.after_lease",
        "deliveries leased by a process that is gone",
    ),
    point("run.before_attempt", "a delivery leased, its attempt not made"),
    point(
        "sql.before_commit",
        "neither the effect nor its row of `hapax_inbox`",
    ),
    point(
        "sql.after_commit",
        "both; the next attempt finds the row and does nothing",
    ),
    point(
        "run.after_attempt",
        "an attempt that was made but not recorded: it is repeated under its key",
    ),
    point("finish.before_store", "the same, for a batch"),
    point(
        "finish.after_store",
        "outcomes that were written, without their follow-up",
    ),
    point(
        "processed.before_answer",
        "completed deliveries; the provider retries and gets a success response",
    ),
    point(
        "replay.before_advance",
        "a part of a bulk replay that was requeued, without its recorded position",
    ),
    point(
        "outbox.after_claim",
        "rows claimed until the claim expires; then another relay takes them",
    ),
    point(
        "outbox.before_settle",
        "rows that became events but are not marked: relaying them again makes a duplicate",
    ),
    point(
        "outbox.after_settle",
        "rows relayed and marked; nothing is left to do",
    ),
];

const fn point(name: &'static str, leaves: &'static str) -> FailPoint {
    FailPoint { name, leaves }
}

#[expect(
    clippy::disallowed_methods,
    reason = "only in test builds, before anything else is read"
)]
fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}
