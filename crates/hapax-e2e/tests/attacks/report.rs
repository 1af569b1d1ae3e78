//! A line of the report for each attack: what was tried, and the result. `./test attacks` collects them.

use std::path::PathBuf;

/// Writes the line. Call it before the assertions, so that a failure shows its figure, too.
pub(super) fn write(attack: &str, tried: &str, outcome: &str) {
    let text = format!("| {attack} | {tried} | {outcome} |\n");
    print!("{text}");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("attack-report");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(attack), text).unwrap();
}
