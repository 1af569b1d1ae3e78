//! Where signed parts are adjacent, only their own format shows where one ends.
//!
//! If that boundary could be moved, one signature would be valid for two requests: an id could absorb the beginning of
//! the body, and an old delivery would return as a new event. So a timestamp next to another part must have a fixed
//! length or an unambiguous end, and an id before it must not contain the characters of a timestamp.

use super::content::Content;
use super::timestamp::has_clear_border;
use crate::rejection::SignatureProblem;
use crate::scheme::{Part, Scheme};

/// Refuses content whose parts could be split differently.
pub(super) fn check(scheme: &Scheme, content: &Content<'_>) -> Result<(), SignatureProblem> {
    let parts = scheme.signed.parts();
    for (index, part) in parts.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| parts.get(before));
        let after = parts.get(index + 1);
        if !is_clear(part, before, after, scheme, content) {
            return Err(SignatureProblem::Ambiguous);
        }
    }
    Ok(())
}

fn is_clear(
    part: &Part,
    before: Option<&Part>,
    after: Option<&Part>,
    scheme: &Scheme,
    content: &Content<'_>,
) -> bool {
    match part {
        Part::Timestamp if touches(before) || touches(after) => {
            let unit = scheme.timestamp.as_ref().map(|rule| rule.unit);
            let text = content.timestamp().unwrap_or_default();
            unit.is_some_and(|unit| has_clear_border(unit, text))
        }
        Part::Id | Part::Header(_) if after == Some(&Part::Timestamp) => {
            let value = content.value(part).unwrap_or_default();
            value.iter().all(|byte| is_id_character(*byte))
        }
        Part::Timestamp
        | Part::Id
        | Part::Header(_)
        | Part::Literal(_)
        | Part::Body
        | Part::Url
        | Part::Method => true,
    }
}

fn touches(neighbour: Option<&Part>) -> bool {
    neighbour.is_some_and(|part| !matches!(part, Part::Literal(_)))
}

/// The characters of ids, which never include the colon that every time of day contains.
fn is_id_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_=+/.".contains(&byte)
}
