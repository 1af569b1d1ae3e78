//! What the language parses, refuses, prints and completes.

use hapax_core::store::{BodyTerm, DuplicateCount, EventQuery, Has};
use hapax_core::{ErrorClass, EventStatus, Timestamp};
use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);

fn read(text: &str) -> EventQuery {
    parse(text, NOW).unwrap()
}

fn refused(text: &str) -> String {
    parse(text, NOW).unwrap_err().to_string()
}

#[test]
fn the_example_of_the_handbook_reads_as_what_it_says() {
    let query =
        read("source:stripe type:invoice.* status:dead duplicates:>1 body:/data/object/id=ord_1 since:2h");
    let expected = EventQuery {
        source: Some("stripe".into()),
        event_type: Some("invoice.*".to_owned()),
        status: Some(EventStatus::Dead),
        duplicates: Some(DuplicateCount { min: 2, max: None }),
        body: vec![BodyTerm {
            pointer: "/data/object/id".to_owned(),
            value: "ord_1".to_owned(),
        }],
        since: Some(Timestamp::from_seconds(1_767_225_600 - 7_200)),
        ..EventQuery::default()
    };
    assert_eq!(query, expected);
}

#[test]
fn a_word_is_an_id_and_quotes_keep_white_space_and_colons() {
    assert_eq!(read("evt_1").event_id.as_deref(), Some("evt_1"));
    assert_eq!(read("id:a:b").event_id.as_deref(), Some("a:b"));
    assert_eq!(read("\"a:b c\"").event_id.as_deref(), Some("a:b c"));
    assert_eq!(read("  ").event_id, None);
    let named = read(r#"body:/customer/name="Ada \"L\" \\ x" to:billing error:timeout has:conflict"#);
    assert_eq!(named.body[0].value, r#"Ada "L" \ x"#);
    assert_eq!(named.error, Some(ErrorClass::Timeout));
    assert_eq!(named.has, Some(Has::Conflict));
}

#[test]
fn numbers_of_duplicates_are_read_in_every_form() {
    let range = |text: &str| {
        read(text)
            .duplicates
            .map(|duplicates| (duplicates.min, duplicates.max))
    };
    assert_eq!(range("duplicates:2"), Some((2, Some(2))));
    assert_eq!(range("duplicates:>0"), Some((1, None)));
    assert_eq!(range("duplicates:>=3"), Some((3, None)));
    assert_eq!(range("duplicates:<5"), Some((0, Some(4))));
    assert_eq!(range("duplicates:<=4"), Some((0, Some(4))));
}

#[test]
fn what_cannot_be_understood_is_refused_with_its_place_and_a_way_out() {
    for (text, says) in [
        ("status:lost", "use pending, failed"),
        ("source:a  source:b", "at character 11: `source:` occurs twice"),
        (
            "colour:red",
            "`colour:` is not a search key; use one of source, type",
        ),
        ("type:", "`type:` has no value"),
        ("body:/a", "has no `=`"),
        ("body:a=b", "not a JSON pointer"),
        ("duplicates:many", "not a number of duplicates"),
        ("duplicates:<0", "not a number of duplicates"),
        ("since:yesterday", "2h or 7d"),
        ("error:oops", "not an error; use one of connect"),
        ("has:wings", "has:conflict"),
        ("id:\"open", "not closed"),
        ("id:\"open\\", "not closed"),
        ("body:/a=1 body:/b=1 body:/c=1 body:/d=1 body:/e=1", "more than 4"),
    ] {
        let message = refused(text);
        assert!(message.contains(says), "{text}: {message}");
    }
    assert!(refused(&"a".repeat(QUERY_BYTES_MAX + 1)).contains("the limit is 2048"));
}

#[test]
fn every_example_of_the_reference_is_read() {
    for key in KEYS {
        for example in key.examples {
            assert!(parse(example, NOW).is_ok(), "{example}");
        }
    }
}

#[test]
fn the_last_term_is_completed_by_key_and_by_value() {
    let known = Known {
        sources: vec!["github".to_owned(), "stripe".to_owned()],
        pointers: vec!["/data/object/id".to_owned()],
        ..Known::default()
    };
    let terms = |text: &str| -> Vec<String> {
        complete(text, &known)
            .into_iter()
            .map(|suggestion| suggestion.term)
            .collect()
    };
    assert_eq!(terms("status:dead s"), ["source:", "status:", "since:"]);
    assert_eq!(terms("source:s"), ["source:stripe"]);
    assert_eq!(terms("status:d"), ["status:dead"]);
    assert_eq!(terms("body:/"), ["body:/data/object/id="]);
    assert!(terms("nothing:").is_empty());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_and_what_is_read_prints_back_as_itself(text in "[a-z:/=\"\\\\<> 0-9~.*-]{0,60}") {
        if let Ok(query) = parse(&text, NOW) {
            prop_assert_eq!(parse(&print(&query), NOW).unwrap(), query);
        }
    }

    #[test]
    fn any_values_survive_printing(id in "\\PC{1,20}", value in "\\PC{0,20}", source in "[a-z]{1,8}") {
        let query = EventQuery {
            source: Some(source.as_str().into()),
            event_id: Some(id),
            body: vec![BodyTerm { pointer: "/a".to_owned(), value }],
            ..EventQuery::default()
        };
        prop_assert_eq!(parse(&print(&query), NOW).unwrap(), query);
    }
}
