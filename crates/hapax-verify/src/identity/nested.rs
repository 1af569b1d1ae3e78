//! Splits a request whose events are in arrays inside arrays.
//!
//! Each event is delivered as the request would look if it carried that event alone: the bytes of the body without the
//! other events, so that a handler written for such requests keeps working. An element that contains further events is
//! not an event itself; one that could contain events but does not is one, so that nothing is lost.

mod tree;
mod walk;

use serde::Deserialize;

use super::item::Item;
use super::pattern::Pattern;
use crate::rejection::Rejection;
use crate::setup::SetupError;
use tree::Level;
use walk::Walk;

/// Events at one depth.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NestedEvents {
    /// Where they are, such as `/entry/*/messaging/*`.
    pub at: Pattern,
    /// The composites of their id: the first whose parts are all present counts. If none is complete, the id is a hash
    /// of the outermost element as it would be with this event alone.
    #[serde(default)]
    pub event_id: Vec<Vec<Pattern>>,
    /// The parts of their type, joined with `.`.
    #[serde(default)]
    pub event_type: Vec<Pattern>,
    /// Their type if no part of it is present.
    #[serde(default)]
    pub type_text: Option<String>,
}

/// The compiled rules.
#[derive(Debug)]
pub(crate) struct Nested {
    root: Level,
    place: String,
}

impl Nested {
    pub(super) fn new(events: &[NestedEvents]) -> Result<Self, SetupError> {
        let places: Vec<String> = events.iter().map(|events| events.at.to_string()).collect();
        Ok(Nested {
            root: Level::new(events)?,
            place: format!("body:{}", places.join(" or body:")),
        })
    }

    /// The events of a body, in order.
    pub(super) fn split(&self, body: &[u8]) -> Result<Vec<Item>, Rejection> {
        let malformed = |detail: String| Rejection::MalformedBody {
            looked_in: self.place.clone(),
            detail,
        };
        let text = std::str::from_utf8(body).map_err(|error| malformed(error.to_string()))?;
        Walk::new(body).run(&self.root, text).map_err(malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verification::EventBody;

    fn nested() -> Nested {
        let at = |at: &str, id: &[&str], kind: &[&str]| NestedEvents {
            at: at.parse().unwrap(),
            event_id: vec![id.iter().map(|part| part.parse().unwrap()).collect()],
            event_type: kind.iter().map(|part| part.parse().unwrap()).collect(),
            type_text: Some("other".to_owned()),
        };
        Nested::new(&[
            at(
                "/entry/*/changes/*/messages/*",
                &["/entry/*/changes/*/messages/*/id"],
                &["/entry/*/changes/*/field"],
            ),
            at(
                "/entry/*/changes/*/statuses/*",
                &["/entry/*/id", "/entry/*/changes/*/statuses/*/id"],
                &[],
            ),
            at("/entry/*/changes/*", &["/entry/*/changes/*/none"], &[]),
            at("/entry/*", &["/entry/*/none"], &[]),
        ])
        .unwrap()
    }

    fn bodies(body: &str) -> Vec<String> {
        let join = |item: Item| match item.body {
            EventBody::Pieces(pieces) => pieces.into_iter().map(|piece| &body[piece]).collect(),
            other => panic!("{other:?}"),
        };
        nested()
            .split(body.as_bytes())
            .unwrap()
            .into_iter()
            .map(join)
            .collect()
    }

    fn ids(body: &str) -> Vec<(String, String)> {
        let known = |item: Item| {
            let known = item.known.unwrap();
            let id: Vec<String> = known.id.into_iter().flatten().collect();
            (id.join(":"), known.event_type.unwrap())
        };
        nested()
            .split(body.as_bytes())
            .unwrap()
            .into_iter()
            .map(known)
            .collect()
    }

    #[test]
    fn each_event_is_delivered_as_if_it_had_come_alone() {
        let body = r#"{"entry":[ {"id":"e","changes":[{"messages":[{"id":"a"}, {"id":"b"}]},{"x":1}]}, {"id":"f"}],"z":2}"#;
        assert_eq!(
            bodies(body),
            [
                r#"{"entry":[{"id":"e","changes":[{"messages":[{"id":"a"}]}]}],"z":2}"#,
                r#"{"entry":[{"id":"e","changes":[{"messages":[{"id":"b"}]}]}],"z":2}"#,
                r#"{"entry":[{"id":"e","changes":[{"x":1}]}],"z":2}"#,
                r#"{"entry":[{"id":"f"}],"z":2}"#,
            ]
        );
    }

    #[test]
    fn events_of_another_kind_beside_it_are_left_out_too() {
        let body = r#"{"entry":[{"changes":[{"messages":[{"id":"a"}],"statuses":[{"id":"s"}]}]}]}"#;
        assert_eq!(
            bodies(body),
            [
                r#"{"entry":[{"changes":[{"messages":[{"id":"a"}],"statuses":[]}]}]}"#,
                r#"{"entry":[{"changes":[{"messages":[],"statuses":[{"id":"s"}]}]}]}"#,
            ]
        );
    }

    #[test]
    fn ids_and_types_come_from_the_event_and_from_what_holds_it() {
        let body = r#"{"entry":[{"id":"e","changes":[{"field":"f","messages":[{"id":"a"}],"statuses":[{"id":"s"}]}]}]}"#;
        let expected = [("a", "f"), ("e:s", "other")].map(|(id, kind)| (id.to_owned(), kind.to_owned()));
        assert_eq!(ids(body), expected);
    }

    #[test]
    fn an_event_without_an_id_has_the_same_hash_alone_and_among_others() {
        let alone = ids(r#"{"entry":[{"id":"e","changes":[{"x":1}]}]}"#);
        let among = ids(r#"{"entry":[{"id":"d"},{"id":"e","changes":[{"x":1},{"x":2}]}]}"#);
        assert_eq!(alone[0], among[1]);
        assert_ne!(among[1], among[2]);
        // The same change in another entry is a different event.
        assert_ne!(alone[0], ids(r#"{"entry":[{"id":"d","changes":[{"x":1}]}]}"#)[0]);
    }

    #[test]
    fn a_body_without_the_outermost_array_is_refused_and_an_empty_one_has_no_events() {
        for body in ["", "{}", "[]", "{\"entry\":{}}", "{\"entry\":[", "\u{0}"] {
            assert!(nested().split(body.as_bytes()).is_err(), "{body}");
        }
        assert!(nested().split(b"\xff").is_err());
        assert!(bodies(r#"{"entry":[]}"#).is_empty());
    }

    #[test]
    fn a_few_large_surroundings_cannot_be_multiplied_without_end() {
        let events = vec![r#"{"id":"a"}"#; 2_000].join(",");
        let body = format!(
            r#"{{"entry":[{{"changes":[{{"messages":[{events}]}}]}}],"z":"{}"}}"#,
            "x".repeat(100_000)
        );
        assert!(nested().split(body.as_bytes()).is_err());
    }
}
