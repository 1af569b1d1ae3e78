//! A line of the report for each fault: what was injected, and what the checker found. `./test faults` collects them.

use std::path::PathBuf;

use super::checker::{Findings, answered};
use super::history::Seen;

/// The figures of one fault for which no history was kept.
pub(super) struct Line<'a> {
    pub(super) fault: &'a str,
    pub(super) store: &'a str,
    pub(super) injected: usize,
    /// Events that were answered 2xx.
    pub(super) events: usize,
    /// Answers that were 2xx.
    pub(super) answers: usize,
    pub(super) attempts: usize,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    pub(super) keys: usize,
    /// Stored states that went backwards, if the store was examined.
    pub(super) backwards: Option<usize>,
}

/// Writes the line, also if promises were broken.
pub(super) fn write(fault: &str, store: &str, injected: usize, history: &[Seen], findings: &Findings) {
    let count = |wanted: fn(&Seen) -> bool| history.iter().filter(|seen| wanted(seen)).count();
    let answers = count(|seen| matches!(seen, Seen::Answered { status, .. } if (200..300).contains(status)));
    let attempts = count(|seen| matches!(seen, Seen::Attempted { .. }));
    write_line(&Line {
        fault,
        store,
        injected,
        events: answered(history).len(),
        answers,
        attempts,
        lost: findings.lost.len(),
        doubled: findings.doubled.len(),
        keys: findings.keys.len(),
        backwards: Some(findings.backwards.len()),
    });
}

/// The same from figures.
pub(super) fn write_line(line: &Line<'_>) {
    let Line { fault, store, .. } = line;
    let backwards = line
        .backwards
        .map_or_else(|| "–".to_owned(), |count| count.to_string());
    let text = format!(
        "| {fault} | {store} | {} | {} | {} | {} | {} | {} | {} | {backwards} |\n",
        line.injected, line.events, line.answers, line.attempts, line.lost, line.doubled, line.keys,
    );
    print!("{text}");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fault-report");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{fault}, {store}")), text).unwrap();
}
