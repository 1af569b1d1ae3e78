//! Checks docs/reference/logging.md against the code: the page lists exactly the lines that are written, with their
//! levels.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];
/// Crates that run inside `hapax serve`.
const CRATES: [&str; 15] = [
    "hapax-admin",
    "hapax-alerts",
    "hapax-config",
    "hapax-dashboard",
    "hapax-delivery",
    "hapax-ingest",
    "hapax-listen",
    "hapax-outbound",
    "hapax-server",
    "hapax-telemetry",
    "hapax-engine",
    "hapax-seal",
    "hapax-store-sqlite",
    "hapax-store-postgres",
    "hapax-store-redis",
];

/// A level and a message.
type Line = (String, String);

#[test]
fn every_line_of_the_log_is_on_its_page_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/reference/logging.md")).unwrap();
    let written: BTreeSet<Line> = CRATES
        .iter()
        .flat_map(|name| sources(&root.join("crates").join(name).join("src")))
        .flat_map(|path| lines_in(&std::fs::read_to_string(path).unwrap()))
        .collect();
    let listed: BTreeSet<Line> = page.lines().filter_map(listed_in).collect();
    let missing: Vec<_> = written.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&written).collect();
    assert!(written.len() > 50, "the parser finds too few lines: {written:?}");
    assert!(
        missing.is_empty() && gone.is_empty(),
        "docs/reference/logging.md lacks {missing:#?}\nand lists lines that are not written: {gone:#?}"
    );
}

#[test]
fn the_reader_finds_messages_in_every_form() {
    let code = r#"
        tracing::info!("one");
        warn!(%error, class = "not this", nested = f("nor this", 1), "two \
               lines: {}", x);
        about!(error, delivery, "three");
        whole!(info, event, "four");
        debug_assert!(x, "never");
        // tracing::info!("a comment");
    "#;
    let found: Vec<Line> = lines_in(code);
    let expected = [
        ("info", "one"),
        ("warn", "two lines: {}"),
        ("error", "three"),
        ("info", "four"),
    ];
    assert_eq!(
        found,
        expected.map(|(level, text)| (level.to_owned(), text.to_owned()))
    );
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Tests have their own log lines, and so does this file.
        if name.starts_with("tests") || name == "logging_page.rs" {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// `| level | message in backticks | …`.
fn listed_in(row: &str) -> Option<Line> {
    let mut cells = row.strip_prefix("| ")?.split(" | ");
    let (level, message) = (cells.next()?, cells.next()?);
    let message = message.trim().trim_matches('`').trim();
    LEVELS
        .contains(&level)
        .then(|| (level.to_owned(), message.to_owned()))
}

fn lines_in(code: &str) -> Vec<Line> {
    let said = |line: &&str| !line.trim_start().starts_with("//");
    let code = code.lines().filter(said).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = rest.find("!(") {
        let name = rest[..at]
            .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
            .next();
        let call = &rest[at + 2..];
        let level = match name {
            Some("about" | "whole") => call.split(',').next().map(str::trim),
            other => other,
        };
        if let Some(level) = level.filter(|level| LEVELS.contains(level))
            && let Some(message) = message_of(call)
        {
            found.push((level.to_owned(), message));
        }
        rest = call;
    }
    found
}

/// The first string in a call that is neither a field's value nor inside another call.
fn message_of(call: &str) -> Option<String> {
    let (mut depth, mut before, mut at) = (1_usize, ' ', 0);
    while depth > 0 {
        let next = call[at..].chars().next()?;
        match next {
            '"' => {
                let end = end_of_text(&call[at + 1..])?;
                let text = &call[at + 1..at + 1 + end];
                if depth == 1 && before != '=' {
                    return Some(joined(text));
                }
                at += end + 1;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if !next.is_whitespace() {
            before = next;
        }
        at += next.len_utf8();
    }
    None
}

fn end_of_text(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|at| bytes[*at] == b'"' && (*at == 0 || bytes[at - 1] != b'\\'))
}

/// Joins a string that continues on the next line.
fn joined(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.trim_start())
}
