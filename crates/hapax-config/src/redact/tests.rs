//! Which values of a body are hidden from people, and which are shown.

use proptest::prelude::*;

use super::*;

const FORM: Option<&[u8]> = Some(b"application/x-www-form-urlencoded; charset=utf-8");

fn redaction(fields: &[&str]) -> Redaction {
    fields.iter().map(|field| field.parse().unwrap()).collect()
}

fn shown(fields: &[&str], body: &str) -> String {
    let shown = redaction(fields).apply(body.as_bytes(), None);
    String::from_utf8(shown.into_owned()).unwrap()
}

#[test]
fn a_field_is_hidden_and_every_other_byte_stays() {
    let body = r#"{ "data" : {"email":"ada@example.com", "n": 1.50},  "email":"top" }"#;
    assert_eq!(
        shown(&["/data/email"], body),
        r#"{ "data" : {"email":"***", "n": 1.50},  "email":"top" }"#
    );
    assert_eq!(shown(&["/data"], body), r#"{ "data" : "***",  "email":"top" }"#);
    assert_eq!(shown(&["/absent", "/email/deeper"], body), body);
}

#[test]
fn every_item_and_every_one_of_equal_keys_is_hidden() {
    assert_eq!(
        shown(
            &["/items/*/email"],
            r#"{"items":[{"email":"a"},{"no":1},{"email":null}]}"#
        ),
        r#"{"items":[{"email":"***"},{"no":1},{"email":"***"}]}"#
    );
    assert_eq!(
        shown(&["/1/a"], r#"[{"a":1},{"a":2}]"#),
        r#"[{"a":1},{"a":"***"}]"#
    );
    assert_eq!(
        shown(&["/email", "/email"], r#"{"email":"a","\u0065mail":"b"}"#),
        r#"{"email":"***","\u0065mail":"***"}"#
    );
}

#[test]
fn a_byte_order_mark_hides_nothing_from_us() {
    assert_eq!(shown(&["/a"], "\u{feff}{\"a\":1}"), "\u{feff}{\"a\":\"***\"}");
}

#[test]
fn a_form_hides_the_fields_of_that_name_however_they_are_written() {
    let form = |fields: &[&str], body: &str| {
        let shown = redaction(fields).apply(body.as_bytes(), FORM);
        String::from_utf8(shown.into_owned()).unwrap()
    };
    assert_eq!(
        form(&["/email"], "a=1&em%61il=x%40y&email=&b=2"),
        "a=1&em%61il=***&email=***&b=2"
    );
    // A form field that contains JSON is hidden entirely; its content is not parsed.
    assert_eq!(form(&["/payload/user"], "payload=%7B%7D&a=1"), "payload=***&a=1");
}

#[test]
fn what_cannot_be_read_is_hidden_whole() {
    for body in [
        &b"{\"email\":\"a\""[..],
        b"email=a",
        b"\xff{}",
        b"{\"email\":1} {}",
    ] {
        assert_eq!(*redaction(&["/email"]).apply(body, None), b"***"[..], "{body:?}");
    }
    assert_eq!(*Redaction::default().apply(b"\xff", None), b"\xff"[..]);
    assert_eq!(*redaction(&["/a"]).apply(b"", None), b""[..]);
}

#[test]
fn a_search_is_told_whether_it_would_reveal_a_field() {
    let redaction = redaction(&["/data/email", "/items/*/name"]);
    for pointer in [
        "/data/email",
        "/data",
        "/data/email/x",
        "/items/3/name",
        "/items/3",
    ] {
        assert!(redaction.hides(pointer), "{pointer}");
    }
    for pointer in ["/data/id", "/items/3/id", "/email"] {
        assert!(!redaction.hides(pointer), "{pointer}");
    }
}

#[test]
fn what_is_no_pointer_is_refused() {
    for text in ["", "email", "/a~2", &"/a".repeat(200)] {
        assert!(text.parse::<RedactedField>().is_err(), "{text}");
    }
}

proptest! {
    /// Holds for any surrounding text.
    #[test]
    fn a_hidden_value_is_shown_nowhere(before in ".{0,20}", after in ".{0,20}") {
        let body = format!("{before}{{\"email\":\"ada@example.com\"}}{after}");
        let shown = shown(&["/*"], &body);
        prop_assert!(!shown.contains("ada@"), "{shown}");
    }
}
