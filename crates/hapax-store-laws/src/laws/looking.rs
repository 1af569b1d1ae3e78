//! Reading: lists and pages show the current state, newest first.

use std::time::Duration;

use hapax_core::store::{BodyTerm, EventQuery, ListOrder};
use hapax_core::{AttemptOutcome, EventId, EventStatus};

use crate::Bench;
use crate::bench::{LONG, Must};
use crate::clock::START;

/// Newest first, with the fields that a list shows.
pub async fn a_list_is_newest_first(bench: &mut Bench) {
    let mut expected = Vec::new();
    for n in 0..7 {
        expected.insert(
            0,
            bench.stored(bench.event(&format!("evt_{n}")).body("12345")).await,
        );
    }
    let listed = bench.list(&EventQuery::default(), 100).await;
    assert_eq!(ids(&listed), expected);
    let newest = &listed[0];
    assert_eq!(newest.source.as_str(), "shop");
    assert_eq!(newest.event_id, "evt_6");
    assert_eq!(newest.event_type.as_deref(), Some("order.paid"));
    assert_eq!((newest.received_at, newest.body_bytes), (START, 5));
    assert_eq!(newest.status, EventStatus::Ignored);
}

/// Pages neither skip nor repeat events that were there, while more arrive and states change.
pub async fn pages_neither_skip_nor_repeat_under_writes(bench: &mut Bench) {
    let mut expected = Vec::new();
    for n in 0..10 {
        expected.insert(
            0,
            bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await,
        );
    }
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = bench.store.list(&EventQuery::default(), after, 3).await.must();
        assert!(page.events.len() <= 3);
        found.extend(ids(&page.events));
        after = page.next;
        if after.is_none() {
            break;
        }
        bench.stored(bench.event(&format!("late_{}", found.len()))).await;
        bench.run("billing", AttemptOutcome::Completed).await;
    }
    assert_eq!(found, expected);
}

/// Oldest first is the same list in reverse, for every query, page by page.
pub async fn a_list_can_be_oldest_first(bench: &mut Bench) {
    for n in 0..4 {
        bench.completed(&format!("completed_{n}"), "billing").await;
        bench.dead(&format!("dead_{n}"), "billing").await;
        bench
            .stored(
                bench
                    .event(&format!("pending_{n}"))
                    .to("stock")
                    .body(r#"{"n":1}"#),
            )
            .await;
        bench.stored(bench.event(&format!("failed_{n}")).to("post")).await;
        bench.run("post", AttemptOutcome::Retry { after: LONG }).await;
    }
    let of = |status| EventQuery {
        status: Some(status),
        ..EventQuery::default()
    };
    let queries = [
        EventQuery::default(),
        of(EventStatus::Dead),
        of(EventStatus::Pending),
        of(EventStatus::Failed),
        of(EventStatus::Completed),
        EventQuery {
            event_type: Some("order.paid".to_owned()),
            source: Some("shop".into()),
            ..EventQuery::default()
        },
        EventQuery {
            error: Some(hapax_core::ErrorClass::Refused),
            ..EventQuery::default()
        },
        EventQuery {
            event_id: Some("dead_2".to_owned()),
            ..EventQuery::default()
        },
        EventQuery {
            body: vec![BodyTerm {
                pointer: "/n".to_owned(),
                value: "1".to_owned(),
            }],
            since: Some(START),
            ..EventQuery::default()
        },
    ];
    for query in queries {
        let mut newest_first = ids(&bench.list(&query, 3).await);
        let oldest_first = EventQuery {
            order: ListOrder::OldestFirst,
            ..query.clone()
        };
        let found = ids(&bench.list(&oldest_first, 3).await);
        newest_first.reverse();
        assert!(!found.is_empty(), "{query:?}");
        assert_eq!(found, newest_first, "{query:?}");
    }
}

/// From the oldest on, pages neither skip nor repeat events that were there, and later events come last.
pub async fn pages_from_the_oldest_neither_skip_nor_repeat_under_writes(bench: &mut Bench) {
    let mut expected = Vec::new();
    for n in 0..8 {
        expected.push(bench.stored(bench.event(&format!("evt_{n}")).to("billing")).await);
    }
    let query = EventQuery {
        order: ListOrder::OldestFirst,
        ..EventQuery::default()
    };
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = bench.store.list(&query, after, 3).await.must();
        assert!(page.events.len() <= 3);
        found.extend(ids(&page.events));
        after = page.next;
        if after.is_none() {
            break;
        }
        if expected.len() < 10 {
            expected.push(bench.stored(bench.event(&format!("late_{}", found.len()))).await);
        }
        bench.run("billing", AttemptOutcome::Completed).await;
    }
    assert_eq!(found, expected);
}

/// A filter that matches few events still ends, over any number of pages.
pub async fn a_rare_status_is_found_over_all_pages(bench: &mut Bench) {
    let rare = bench.dead("rare", "billing").await;
    for n in 0..12 {
        bench.stored(bench.event(&format!("evt_{n}"))).await;
    }
    let query = EventQuery {
        status: Some(EventStatus::Dead),
        ..EventQuery::default()
    };
    assert_eq!(ids(&bench.list(&query, 2).await), [rare]);
}

/// Every given filter must match.
pub async fn filters_match_what_they_say(bench: &mut Bench) {
    let at = |seconds| START.plus(Duration::from_secs(seconds));
    let one = bench
        .stored(bench.event("one").of_type("invoice.paid").received_at(at(1)))
        .await;
    let two = bench
        .stored(
            bench
                .event("two")
                .of_type("invoice.void")
                .from_source("bank")
                .received_at(at(2)),
        )
        .await;
    let three = bench
        .stored(bench.event("three").of_type("charge.paid").received_at(at(3)))
        .await;
    let none = bench
        .stored(
            bench
                .event("none")
                .with(|event| event.event_type = None)
                .received_at(at(4)),
        )
        .await;
    let of_source = |source: &str| EventQuery {
        source: Some(source.into()),
        ..EventQuery::default()
    };
    let of_id = |id: &str| EventQuery {
        event_id: Some(id.to_owned()),
        ..EventQuery::default()
    };
    let of_type = |pattern: &str| EventQuery {
        event_type: Some(pattern.to_owned()),
        ..EventQuery::default()
    };
    let between = |since, until| EventQuery {
        since,
        until,
        ..EventQuery::default()
    };
    let of_shop_since = EventQuery {
        since: Some(at(2)),
        ..of_source("shop")
    };
    let cases = [
        (of_source("bank"), vec![two]),
        (of_source("BANK"), vec![]),
        (of_id("three"), vec![three]),
        (of_id("thr%"), vec![]),
        (between(Some(at(2)), None), vec![none, three, two]),
        (between(None, Some(at(2))), vec![one]),
        (between(Some(at(2)), Some(at(4))), vec![three, two]),
        (of_shop_since, vec![none, three]),
        (of_type("invoice.paid"), vec![one]),
        (of_type("invoice.*"), vec![two, one]),
        (of_type("invoice*"), vec![two, one]),
        (of_type("*"), vec![three, two, one]),
        (of_type("*.paid"), vec![]),
        (of_type("invoice._aid"), vec![]),
        (of_type("invoice%"), vec![]),
        (of_type("Invoice.paid"), vec![]),
    ];
    for (query, expected) in cases {
        for page in [1, 100] {
            assert_eq!(ids(&bench.list(&query, page).await), expected, "{query:?}");
        }
    }
}

/// Special characters of patterns are plain characters.
pub async fn odd_characters_in_a_type_are_plain(bench: &mut Bench) {
    let odd = bench.stored(bench.event("odd").of_type("a%_[b]\\'c.d")).await;
    bench.stored(bench.event("plain").of_type("aXY[b]\\'c.d")).await;
    for pattern in ["a%_[b]\\'c.d", "a%_[b]\\'*", "a%*"] {
        let query = EventQuery {
            event_type: Some(pattern.to_owned()),
            ..EventQuery::default()
        };
        assert_eq!(ids(&bench.list(&query, 10).await), [odd], "{pattern}");
    }
}

fn ids(events: &[hapax_core::store::EventSummary]) -> Vec<EventId> {
    events.iter().map(|event| event.id).collect()
}
