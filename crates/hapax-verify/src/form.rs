//! Form bodies: URL-encoded, or in parts (`multipart/form-data`) from providers that attach files.

mod multipart;

use multipart::{Part, Parts, boundary};

use crate::request::Headers;

/// A body, read as the kind of form that its content type states; URL-encoded by default.
pub(crate) struct Form<'a> {
    body: &'a [u8],
    boundary: Option<&'a [u8]>,
}

impl<'a> Form<'a> {
    pub(crate) fn new(headers: &'a dyn Headers, body: &'a [u8]) -> Self {
        let content_type = headers.get("content-type").unwrap_or_default();
        Form {
            body,
            boundary: boundary(content_type),
        }
    }

    /// Whether it is a form in parts, whose boundary is in its content type.
    pub(crate) fn is_multipart(&self) -> bool {
        self.boundary.is_some()
    }

    /// The first value with a name. If the name continues with `#` and a JSON pointer, the result is the string or
    /// number at that pointer inside the value.
    pub(crate) fn value(&self, place: &str) -> Option<String> {
        let Some((name, pointer)) = place.split_once('#') else {
            let [value] = self.values([place]);
            return value;
        };
        let [value] = self.values([name]);
        let value: serde_json::Value = serde_json::from_str(&value?).ok()?;
        let found = value.pointer(pointer)?;
        let number = || found.as_i64().map(|number| number.to_string());
        found.as_str().map(str::to_owned).or_else(number)
    }

    /// The first value of each name, in one pass: a part may be a large file.
    pub(crate) fn values<const COUNT: usize>(&self, names: [&str; COUNT]) -> [Option<String>; COUNT] {
        let Some(boundary) = self.boundary else {
            return first_of(names, form_urlencoded::parse(self.body), |value| {
                Some(value.into_owned())
            });
        };
        let fields =
            Parts::new(self.body, boundary).filter_map(|part| Some((part.field_name()?, part.content)));
        // Invalid UTF-8 is skipped: with replacement characters, two ids could become one.
        first_of(names, fields, |value| String::from_utf8(value.to_vec()).ok())
    }

    /// The headers and contents of a multipart form, without the fields with these names. `None` if the body is not a
    /// complete, well-formed multipart form.
    pub(crate) fn parts_without(&self, names: &[String]) -> Option<Vec<[&'a [u8]; 2]>> {
        let mut parts = Parts::new(self.body, self.boundary?);
        let is_kept = |part: &Part<'_>| {
            !part
                .field_name()
                .is_some_and(|name| names.iter().any(|left_out| left_out == name))
        };
        let kept = parts
            .by_ref()
            .filter(is_kept)
            .map(|part| [part.headers, part.content]);
        let kept = kept.collect();
        parts.is_complete.then_some(kept)
    }
}

/// Searches until every name is found. The first value counts, even if it is not text: a client must not be able to
/// select another value by corrupting the first.
fn first_of<N: AsRef<str>, V, const COUNT: usize>(
    names: [&str; COUNT],
    fields: impl Iterator<Item = (N, V)>,
    read: fn(V) -> Option<String>,
) -> [Option<String>; COUNT] {
    let mut found = names.map(|_| None);
    for (name, value) in fields {
        let wanted = names.iter().position(|wanted| *wanted == name.as_ref());
        if let Some(slot) = wanted
            .and_then(|index| found.get_mut(index))
            .filter(|slot| slot.is_none())
        {
            *slot = Some(read(value));
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    found.map(Option::flatten)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form<'a>(content_type: &'a [(&'static str, &'static str); 1], body: &'a [u8]) -> Form<'a> {
        Form::new(content_type, body)
    }

    const ESCAPED: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];
    const PARTS: [(&str, &str); 1] = [("Content-Type", "multipart/form-data; boundary=xYzZY")];

    #[test]
    fn a_value_inside_json_inside_a_form_is_found() {
        let escaped = b"a=1&payload=%7B%22type%22%3A%22t%22%2C%22in%22%3A%7B%22n%22%3A7%7D%7D";
        let parts = b"--xYzZY\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
            --xYzZY\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n{\"type\":\"t\",\"in\":{\"n\":7}}\r\n--xYzZY--\r\n";
        for form in [form(&ESCAPED, escaped), form(&PARTS, parts)] {
            assert_eq!(form.value("a").as_deref(), Some("1"));
            assert_eq!(form.value("payload#/type").as_deref(), Some("t"));
            assert_eq!(form.value("payload#/in/n").as_deref(), Some("7"));
            for name in [
                "payload#/in",
                "payload#/none",
                "a#/type",
                "b",
                "b#/type",
                "payload#type",
            ] {
                assert_eq!(form.value(name), None, "{name}");
            }
        }
    }

    #[test]
    fn the_first_of_equal_names_counts_even_where_it_is_no_text() {
        assert_eq!(form(&ESCAPED, b"a=1&a=2").value("a").as_deref(), Some("1"));
        let part = |value: &[u8]| {
            [
                b"--xYzZY\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n",
                value,
                b"\r\n",
            ]
            .concat()
        };
        let body = |first: &[u8]| [part(first), part(b"2"), b"--xYzZY--".to_vec()].concat();
        assert_eq!(form(&PARTS, &body(b"1")).value("a").as_deref(), Some("1"));
        assert_eq!(form(&PARTS, &body(b"\xff")).value("a"), None);
    }

    #[test]
    fn values_that_are_there_are_found_beside_those_that_are_not() {
        let found = form(&ESCAPED, b"x=0&c=3&a=1").values(["a", "b", "c"]);
        assert_eq!(found, [Some("1".to_owned()), None, Some("3".to_owned())]);
    }
}
