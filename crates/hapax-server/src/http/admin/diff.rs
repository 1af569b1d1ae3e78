//! Two bodies under one id, line by line: JSON written alike first, so that only what it says is compared.

use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

use super::pretty::sorted;
use super::views::{DiffKind, DiffLineView, DiffSide, DiffView};

/// Bytes of each body that are compared; what is longer is cut, and the answer says so.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// Lines of an answer.
const LINES_MAX: usize = 2_000;
/// Characters of one line.
const LINE_CHARACTERS_MAX: usize = 2_000;
/// Lines that are shown around a change.
const AROUND: usize = 3;
/// After so long the comparison is as coarse as it has to be.
const TIME_MAX: Duration = Duration::from_millis(500);

/// Compares them.
pub(in crate::http) fn of(first: &[u8], other: &[u8]) -> DiffView {
    let (kind, texts) = readable(first, other);
    let mut view = DiffView {
        kind,
        first_bytes: first.len() as u64,
        other_bytes: other.len() as u64,
        lines: Vec::new(),
        is_cut: false,
    };
    if let Some((first, other)) = texts {
        let (first, is_first_cut) = cut(&first, BODY_BYTES_MAX);
        let (other, is_other_cut) = cut(&other, BODY_BYTES_MAX);
        view.is_cut = is_first_cut || is_other_cut;
        compare(first, other, &mut view);
    }
    view
}

fn compare(first: &str, other: &str, view: &mut DiffView) {
    let diff = TextDiff::configure()
        .deadline(Instant::now() + TIME_MAX)
        .diff_lines(first, other);
    let groups = diff.grouped_ops(AROUND);
    let changes = groups.iter().flatten().flat_map(|op| diff.iter_changes(op));
    for change in changes {
        if view.lines.len() == LINES_MAX {
            view.is_cut = true;
            return;
        }
        let (text, is_cut) = line(change.value());
        view.is_cut |= is_cut;
        view.lines.push(DiffLineView {
            side: match change.tag() {
                ChangeTag::Equal => DiffSide::Both,
                ChangeTag::Delete => DiffSide::First,
                ChangeTag::Insert => DiffSide::Other,
            },
            first_line: change.old_index().map(|index| index as u64 + 1),
            other_line: change.new_index().map(|index| index as u64 + 1),
            text,
        });
    }
}

fn readable(first: &[u8], other: &[u8]) -> (DiffKind, Option<(String, String)>) {
    if let (Some(first), Some(other)) = (sorted(first), sorted(other)) {
        return (DiffKind::Json, Some((first, other)));
    }
    match (std::str::from_utf8(first), std::str::from_utf8(other)) {
        (Ok(first), Ok(other)) => (DiffKind::Text, Some((first.to_owned(), other.to_owned()))),
        (Err(_), _) | (_, Err(_)) => (DiffKind::Binary, None),
    }
}

/// The beginning of a text that is at most so long, and whether that is less than all.
pub(in crate::http) fn cut(text: &str, bytes_max: usize) -> (&str, bool) {
    if text.len() <= bytes_max {
        return (text, false);
    }
    let end = (0..=bytes_max)
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    (&text[..end], true)
}

fn line(text: &str) -> (String, bool) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut characters = text.chars();
    let shown: String = characters.by_ref().take(LINE_CHARACTERS_MAX).collect();
    (shown, characters.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(view: &DiffView) -> Vec<(DiffSide, &str)> {
        let lines = view.lines.iter().filter(|line| line.side != DiffSide::Both);
        lines.map(|line| (line.side, line.text.trim())).collect()
    }

    #[test]
    fn of_json_only_what_it_says_is_compared() {
        let view = of(br#"{"id":"1","amount":5}"#, b"{ \"amount\" : 6,\n \"id\":\"1\"}");
        assert_eq!(view.kind, DiffKind::Json);
        assert_eq!(
            changed(&view),
            [
                (DiffSide::First, "\"amount\": 5,"),
                (DiffSide::Other, "\"amount\": 6,")
            ]
        );
        assert!(!view.is_cut);
    }

    #[test]
    fn text_is_compared_as_it_is_and_binary_bodies_only_by_size() {
        let view = of(b"a\nb\nc", b"a\nB\nc");
        assert_eq!(view.kind, DiffKind::Text);
        assert_eq!(changed(&view), [(DiffSide::First, "b"), (DiffSide::Other, "B")]);
        let view = of(b"\xff\xfe", b"text");
        assert_eq!(
            (view.kind, view.first_bytes, view.lines.len()),
            (DiffKind::Binary, 2, 0)
        );
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let long = "x\n".repeat(BODY_BYTES_MAX);
        let other = "y\n".repeat(BODY_BYTES_MAX);
        let view = of(long.as_bytes(), other.as_bytes());
        assert!(view.is_cut);
        assert_eq!(view.lines.len(), LINES_MAX);
        assert_eq!(cut("aé", 2), ("a", true));
    }
}
