//! A line of the report for each fault: what was injected, and what the checker found. `./test faults` puts them together.

use std::path::PathBuf;

use super::checker::{Findings, answered};
use super::history::Seen;

/// Writes the line, also if the verdict is bad.
pub(super) fn write(fault: &str, store: &str, injected: usize, history: &[Seen], findings: &Findings) {
    let count = |wanted: fn(&Seen) -> bool| history.iter().filter(|seen| wanted(seen)).count();
    let answers = count(|seen| matches!(seen, Seen::Answered { status, .. } if (200..300).contains(status)));
    let attempts = count(|seen| matches!(seen, Seen::Attempted { .. }));
    let line = format!(
        "| {fault} | {store} | {injected} | {} | {answers} | {attempts} | {} | {} | {} | {} |\n",
        answered(history).len(),
        findings.lost.len(),
        findings.doubled.len(),
        findings.keys.len(),
        findings.backwards.len(),
    );
    print!("{line}");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fault-report");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{fault}, {store}")), line).unwrap();
}
