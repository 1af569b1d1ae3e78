//! Compares two bodies with the same id line by line. JSON is normalized first, so that only content is compared.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use super::pretty::sorted;
use hapax_api::views::{DiffKind, DiffLineView, DiffSide, DiffView};

/// Maximum number of bytes compared of each body. Longer bodies are truncated, and the result says so.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of lines in the result.
const LINES_MAX: usize = 2_000;
/// Maximum number of characters in a line.
const LINE_CHARACTERS_MAX: usize = 2_000;
/// Number of context lines around a change.
const AROUND: usize = 3;

/// Compares two bodies.
pub fn of(first: &[u8], other: &[u8]) -> DiffView {
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
    let input = InternedInput::new(first, other);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<_> = diff.hunks().collect();
    let (first, other) = (lines(first), lines(other));
    let place = |range: &Range<u32>| range.start as usize..range.end as usize;
    let mut shown = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let (removed, added) = (place(&hunk.before), place(&hunk.after));
        let before = removed.start - shown.max(removed.start.saturating_sub(AROUND));
        let next = hunks
            .get(number + 1)
            .map_or(first.len(), |next| next.before.start as usize);
        let after = AROUND.min(next - removed.end);
        shown = removed.end + after;
        for back in (1..=before).rev() {
            push(
                view,
                DiffSide::Both,
                Some(removed.start - back),
                Some(added.start - back),
                first[removed.start - back],
            );
        }
        for line in removed.clone() {
            push(view, DiffSide::First, Some(line), None, first[line]);
        }
        for line in added.clone() {
            push(view, DiffSide::Other, None, Some(line), other[line]);
        }
        for on in 0..after {
            push(
                view,
                DiffSide::Both,
                Some(removed.end + on),
                Some(added.end + on),
                first[removed.end + on],
            );
        }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Adds a line if there is room.
fn push(view: &mut DiffView, side: DiffSide, first: Option<usize>, other: Option<usize>, text: &str) {
    if view.lines.len() == LINES_MAX {
        view.is_cut = true;
        return;
    }
    let (text, is_cut) = line(text);
    view.is_cut |= is_cut;
    let number = |line: Option<usize>| line.map(|line| line as u64 + 1);
    view.lines.push(DiffLineView {
        side,
        first_line: number(first),
        other_line: number(other),
        text,
    });
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

/// The beginning of a string, at most this long, and whether it was truncated.
pub fn cut(text: &str, bytes_max: usize) -> (&str, bool) {
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
    fn three_lines_around_a_change_are_shown_with_their_numbers_and_none_twice() {
        let first = (1..=20).map(|n| n.to_string() + "\n").collect::<String>();
        let other = first
            .replace("\n7\n", "\n7\n7a\n")
            .replace("\n11\n", "\n")
            .replace("17\n", "17\n17a\n17b\n");
        let view = of(first.as_bytes(), other.as_bytes());
        let shown: Vec<_> = view
            .lines
            .iter()
            .map(|line| (line.first_line, line.other_line, line.text.as_str()))
            .collect();
        let both = |first, other, text| (Some(first), Some(other), text);
        assert_eq!(
            shown,
            [
                both(5, 5, "5"),
                both(6, 6, "6"),
                both(7, 7, "7"),
                (None, Some(8), "7a"),
                both(8, 9, "8"),
                both(9, 10, "9"),
                both(10, 11, "10"),
                (Some(11), None, "11"),
                both(12, 12, "12"),
                both(13, 13, "13"),
                both(14, 14, "14"),
                both(15, 15, "15"),
                both(16, 16, "16"),
                both(17, 17, "17"),
                (None, Some(18), "17a"),
                (None, Some(19), "17b"),
                both(18, 20, "18"),
                both(19, 21, "19"),
                both(20, 22, "20"),
            ]
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
