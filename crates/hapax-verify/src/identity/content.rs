//! The hash of the content that stays the same when a provider retries an event: the body's bytes without the values
//! that change.

use std::ops::Range;

use aws_lc_rs::digest::{Context, SHA256};

use super::{Changing, Extracted, Pointers};
use crate::form::Form;
use crate::request::Request;
use crate::setup::SetupError;

/// SHA-256 over the content that stays the same in every attempt at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) hash: [u8; 32],
    /// SHA-256 of the whole body, which is known if the content is a part of it.
    pub(crate) raw_hash: Option<[u8; 32]>,
    /// Whether changing values were searched for and excluded.
    pub(crate) is_reduced: bool,
}

/// The changing values, compiled.
#[derive(Debug)]
pub(crate) struct ChangingValues {
    slots: Vec<usize>,
    form: Vec<String>,
    rule: String,
}

impl Content {
    /// The content of a body from which `read` was extracted. A body that is neither JSON nor a form with a changing
    /// value counts as a whole. A multipart form counts by its parts, because its boundary differs in every attempt.
    pub(crate) fn of(
        request: &Request<'_>,
        body: &[u8],
        read: Option<&Extracted<'_>>,
        changing: Option<&ChangingValues>,
    ) -> Self {
        let form = Form::new(request.headers, body);
        if let Some(parts) = changing.and_then(|changing| form.parts_without(&changing.form)) {
            return Content {
                is_reduced: true,
                hash: hash_of_parts(&parts),
                raw_hash: None,
            };
        }
        let cuts = changing.and_then(|changing| changing.cuts(body, read));
        let is_reduced = cuts.is_some();
        let (hash, raw_hash) = hash_without(body, cuts.unwrap_or_default());
        Content {
            is_reduced,
            hash,
            raw_hash: Some(raw_hash),
        }
    }
}

impl ChangingValues {
    /// `None` if the whole body counts. The pointers are added to those that are read from the body anyway.
    pub(crate) fn new(changing: &[Changing], own: &mut Pointers) -> Result<Option<Self>, SetupError> {
        if changing.is_empty() {
            return Ok(None);
        }
        let names: Vec<String> = changing.iter().map(Changing::to_string).collect();
        let mut values = ChangingValues {
            slots: Vec::new(),
            form: Vec::new(),
            rule: format!("without {}", names.join(" ")),
        };
        for value in changing {
            match value {
                Changing::Json(pointer) => values.slots.push(own.add(pointer)?),
                Changing::Form(name) => values.form.push(name.clone()),
            }
        }
        Ok(Some(values))
    }

    /// Names the excluded values.
    pub(crate) fn rule(&self) -> &str {
        &self.rule
    }

    /// The ranges of the values in a JSON body, or in a form that has any of them.
    fn cuts(&self, body: &[u8], read: Option<&Extracted<'_>>) -> Option<Vec<Range<usize>>> {
        if let Some(read) = read {
            let mut cuts: Vec<_> = self
                .slots
                .iter()
                .filter_map(|slot| read.range(*slot, body))
                .collect();
            cuts.sort_unstable_by_key(|cut| cut.start);
            return Some(cuts);
        }
        let mut start = 0;
        let mut cuts = Vec::new();
        for pair in body.split(|byte| *byte == b'&') {
            let name = form_urlencoded::parse(pair).next().map(|(name, _)| name);
            if name.is_some_and(|name| self.form.iter().any(|known| *known == name)) {
                cuts.push(start..start + pair.len());
            }
            start += pair.len() + 1;
        }
        (!cuts.is_empty()).then_some(cuts)
    }
}

/// The hashes of a body without the cuts, and as a whole. What comes before the first cut is hashed once for both, and
/// most values that change are near the end.
fn hash_without(body: &[u8], cuts: Vec<Range<usize>>) -> ([u8; 32], [u8; 32]) {
    let mut content = Context::new(&SHA256);
    let mut whole = None;
    let mut from = 0;
    for cut in cuts {
        content.update(body.get(from..cut.start).unwrap_or_default());
        whole.get_or_insert_with(|| {
            let mut whole = content.clone();
            whole.update(body.get(cut.start..).unwrap_or_default());
            finish(whole)
        });
        from = from.max(cut.end);
    }
    content.update(body.get(from..).unwrap_or_default());
    let hash = finish(content);
    (hash, whole.unwrap_or(hash))
}

fn finish(context: Context) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

/// Each part is preceded by its length, so that no boundary can be moved.
fn hash_of_parts(parts: &[[&[u8]; 2]]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for piece in parts.iter().flatten() {
        context.update(&piece.len().to_be_bytes());
        context.update(piece);
    }
    finish(context)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::digest::digest;

    use super::*;

    fn hash(body: &str) -> Option<[u8; 32]> {
        hash_of("application/x-www-form-urlencoded", body)
    }

    fn hash_of(content_type: &str, body: &str) -> Option<[u8; 32]> {
        let changing = [
            Changing::Json("/attempt".parse().unwrap()),
            Changing::Json("/meta/retry".parse().unwrap()),
            Changing::Form("token".to_owned()),
        ];
        let mut own = Pointers::default();
        let values = ChangingValues::new(&changing, &mut own).unwrap();
        let read = own.extract(body.as_bytes()).ok();
        let headers = [("content-type".to_owned(), content_type.to_owned())];
        let request = Request::new(&headers, body.as_bytes(), 0);
        let content = Content::of(&request, request.body, read.as_ref(), values.as_ref());
        if let Some(raw_hash) = content.raw_hash {
            assert_eq!(
                raw_hash.as_slice(),
                digest(&SHA256, request.body).as_ref(),
                "{body}"
            );
        }
        content.is_reduced.then_some(content.hash)
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

    #[test]
    fn only_what_changes_is_left_out_of_a_form() {
        let first = hash("to=a&token=1&text=x");
        assert_eq!(first, hash("to=a&tok%65n=22&text=x"));
        assert_ne!(first, hash("to=a&token=1&text=y"));
        assert_ne!(first, hash("to=b&token=1&text=x"));
        assert_eq!(hash("to=a&tokens=1"), None);
    }

    #[test]
    fn only_what_changes_is_left_out_of_a_form_in_parts_and_the_boundary_is_no_content() {
        let form = |boundary: &str, token: &str, text: &str| {
            let part = |name: &str, value: &str| {
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
            };
            let body = format!("{}{}--{boundary}--\r\n", part("token", token), part("text", text));
            hash_of(&format!("multipart/form-data; boundary={boundary}"), &body)
        };
        let first = form("aaa", "1", "x");
        assert!(first.is_some());
        assert_eq!(first, form("bbb", "22", "x"));
        assert_ne!(first, form("aaa", "1", "y"));
        // A truncated form counts as a whole.
        let cut_off = "--aaa\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nx\r\n--aaa\r\n";
        assert_eq!(hash_of("multipart/form-data; boundary=aaa", cut_off), None);
    }
}
