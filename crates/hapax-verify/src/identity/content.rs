//! The hash over what stays the same when a sender repeats an event: the body's bytes without the values that change.

use aws_lc_rs::digest::{Context, SHA256, digest};

use super::{Pointer, Pointers};
use crate::SetupError;

/// SHA-256 over what stays the same in every attempt at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) hash: [u8; 32],
    /// Whether it was looked for values that change, and is without them.
    pub(super) is_reduced: bool,
}

impl Content {
    /// A body that is not JSON counts as a whole.
    pub(super) fn of(body: &[u8], changing: Option<&ChangingValues>) -> Self {
        let reduced = changing.and_then(|changing| changing.content(body));
        reduced.unwrap_or_else(|| Content {
            hash: bytes_of(digest(&SHA256, body).as_ref()),
            is_reduced: false,
        })
    }
}

fn bytes_of(digest: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest);
    hash
}

/// Where the changing values are, compiled; nothing where all of a body counts.
#[derive(Debug)]
pub(super) struct ChangingValues {
    pointers: Pointers,
    count: usize,
    rule: String,
}

impl ChangingValues {
    pub(super) fn new(changing: &[Pointer]) -> Result<Option<Self>, SetupError> {
        if changing.is_empty() {
            return Ok(None);
        }
        let mut pointers = Pointers::default();
        for pointer in changing {
            pointers.add(pointer)?;
        }
        let names: Vec<String> = changing.iter().map(Pointer::to_string).collect();
        Ok(Some(ChangingValues {
            pointers,
            count: changing.len(),
            rule: format!("without {}", names.join(" ")),
        }))
    }

    /// Names what is left out.
    pub(super) fn rule(&self) -> &str {
        &self.rule
    }

    /// The content of a body that is JSON; of anything else there is none.
    fn content(&self, body: &[u8]) -> Option<Content> {
        let extracted = self.pointers.extract(body).ok()?;
        let mut cuts: Vec<(usize, usize)> = (0..self.count)
            .filter_map(|slot| extracted.range(slot, body))
            .map(|range| (range.start, range.end))
            .collect();
        cuts.sort_unstable();
        let mut context = Context::new(&SHA256);
        let mut from = 0;
        for (start, end) in cuts {
            context.update(body.get(from..start).unwrap_or_default());
            from = from.max(end);
        }
        context.update(body.get(from..).unwrap_or_default());
        Some(Content {
            hash: bytes_of(context.finish().as_ref()),
            is_reduced: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(body: &str) -> Option<[u8; 32]> {
        let changing = ["/attempt".parse().unwrap(), "/meta/retry".parse().unwrap()];
        let values = ChangingValues::new(&changing).unwrap().unwrap();
        values.content(body.as_bytes()).map(|content| content.hash)
    }

    #[test]
    fn only_what_changes_is_left_out() {
        let first = hash(r#"{"id":1,"attempt":1,"meta":{"retry":false,"x":1}}"#);
        assert_eq!(
            first,
            hash(r#"{"id":1,"attempt":10,"meta":{"retry":true,"x":1}}"#)
        );
        assert_ne!(
            first,
            hash(r#"{"id":1,"attempt":1,"meta":{"retry":false,"x":2}}"#)
        );
        assert_ne!(
            first,
            hash(r#"{"id":2,"attempt":1,"meta":{"retry":false,"x":1}}"#)
        );
        assert!(hash(r#"{"id":1}"#).is_some());
        assert_eq!(hash("not json"), None);
    }
}
