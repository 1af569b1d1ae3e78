//! Lists and counts of a store with several shards: ids that share an order, pages that read little, lanes.

use hapax_core::store::{Cursor, EventPage, EventQuery, Report};
use hapax_core::{AttemptOutcome, DeliveryState, ErrorClass, EventId, EventStatus, NewEvent, Store};
use hapax_store_redis::{Options, RedisStore};
use hapax_test_redis::{Server, fresh_prefix};

use crate::bench::{Maker, accept_again, accept_new, lease};

#[tokio::test]
async fn a_page_has_all_events_of_one_order_or_none() {
    let store = store(5_000).await;
    // Three processes whose clocks agree: each issues the same orders.
    let makers = [Maker::default(), Maker::default(), Maker::default()];
    let mut expected = Vec::new();
    for round in 0..4 {
        for (process, maker) in makers.iter().enumerate() {
            let event = maker.event(&format!("evt_{round}_{process}"));
            accept_new(&store, &event).await;
            accept_again(&store, &event).await;
            expected.push(event.id);
        }
    }
    expected.sort_unstable();
    expected.reverse();
    let orders: Vec<u64> = expected.iter().map(EventId::order).collect();
    assert_eq!(orders[0], orders[2], "three share an order");
    assert_ne!(orders[2], orders[3]);
    for limit in [1, 2, 3, 4, 7, 100] {
        let pages = pages(&store, &EventQuery::default(), limit).await;
        let found: Vec<EventId> = pages.iter().flat_map(ids).collect();
        assert_eq!(found, expected, "in pages of {limit}");
        for page in pages.iter().map(ids) {
            assert!(
                page.len() <= (limit as usize).max(3),
                "{} on a page of {limit}",
                page.len()
            );
            assert_eq!(page.len() % 3, 0, "an order is on one page");
        }
    }
}

#[tokio::test]
async fn a_page_looks_at_few_events_and_goes_on() {
    let store = store(3).await;
    let maker = Maker::default();
    let rare = NewEvent {
        source: "bank".into(),
        ..maker.event("rare")
    };
    accept_new(&store, &rare).await;
    accept_again(&store, &rare).await;
    for number in 0..9 {
        accept_new(&store, &maker.event(&format!("evt_{number}"))).await;
    }
    let query = EventQuery {
        source: Some("bank".into()),
        ..EventQuery::default()
    };
    let pages = pages(&store, &query, 100).await;
    assert!(
        pages.len() >= 4,
        "ten events, three on each look: {}",
        pages.len()
    );
    assert_eq!(pages.iter().flat_map(ids).collect::<Vec<_>>(), [rare.id]);
}

#[tokio::test]
async fn what_is_dead_or_unfinished_is_found_on_the_first_page_where_it_is_little() {
    // Ten events and a scan limit of three: the oldest is on the first page only if the list skips the others.
    let store = store(3).await;
    let maker = Maker::default();
    let event = maker.event("old");
    accept_new(&store, &event).await;
    accept_again(&store, &event).await;
    let leased = lease(&store, "billing", 1).await.remove(0);
    let reason = ErrorClass::Refused;
    let report = Report {
        hold: leased.hold(),
        attempt: None,
        outcome: AttemptOutcome::Dead { reason },
    };
    store.finish(vec![report]).await.unwrap();
    for number in 0..9 {
        let ignored = NewEvent {
            deliveries: Vec::new(),
            ..maker.event(&format!("evt_{number}"))
        };
        accept_new(&store, &ignored).await;
    }
    let why = EventQuery {
        error: Some(reason),
        ..EventQuery::default()
    };
    // The other delivery is still pending.
    for query in [of_status(EventStatus::Pending), why] {
        let pages = pages(&store, &query, 10).await;
        assert_eq!(pages.iter().flat_map(ids).collect::<Vec<_>>(), [event.id]);
        assert_eq!(pages.len(), 1, "{query:?}");
    }
}

#[tokio::test]
async fn much_that_is_unfinished_is_found_by_going_past_everything() {
    let store = store(2).await;
    let maker = Maker::default();
    let mut expected = Vec::new();
    for number in 0..7 {
        let event = maker.event(&format!("evt_{number}"));
        accept_new(&store, &event).await;
        accept_again(&store, &event).await;
        expected.insert(0, event.id);
    }
    let pages = pages(&store, &of_status(EventStatus::Pending), 100).await;
    assert!(pages.len() > 1, "fourteen deliveries are more than two");
    assert_eq!(pages.iter().flat_map(ids).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn what_waits_in_a_lane_is_counted_and_found_like_what_is_due() {
    let store = store(5_000).await;
    let maker = Maker::default();
    let events: Vec<NewEvent> = (0..3)
        .map(|number| maker.in_lane(&format!("evt_{number}")))
        .collect();
    for event in &events {
        accept_new(&store, event).await;
        accept_again(&store, event).await;
    }
    assert_eq!(
        oldest_pending(&store).await,
        (3, first_seen(&store, &events[0]).await)
    );
    lease(&store, "orders", 1).await;
    assert_eq!(
        oldest_pending(&store).await,
        (2, first_seen(&store, &events[1]).await)
    );
    let pages = pages(&store, &of_status(EventStatus::Pending), 100).await;
    let found: Vec<EventId> = pages.iter().flat_map(ids).collect();
    assert_eq!(found, [events[2].id, events[1].id, events[0].id]);
}

async fn store(list_scan_max: usize) -> RedisStore {
    let server = Server::shared().unwrap();
    let url = format!("{}&shards=4", server.url_with_prefix(&fresh_prefix()));
    let options = Options {
        list_scan_max,
        ..Options::new(url)
    };
    RedisStore::open(options).await.unwrap()
}

/// Every page, to the end.
async fn pages(store: &RedisStore, query: &EventQuery, limit: u32) -> Vec<EventPage> {
    let mut pages = Vec::new();
    let mut after: Option<Cursor> = None;
    loop {
        let page = store.list(query, after, limit).await.unwrap();
        let next = page.next;
        assert!(next.is_none() || next != after, "the cursor advances");
        pages.push(page);
        after = next;
        if after.is_none() {
            return pages;
        }
    }
}

fn ids(page: &EventPage) -> Vec<EventId> {
    page.events.iter().map(|event| event.id).collect()
}

fn of_status(status: EventStatus) -> EventQuery {
    EventQuery {
        status: Some(status),
        ..EventQuery::default()
    }
}

/// The number of pending deliveries to `orders`, and when the oldest was accepted.
async fn oldest_pending(store: &RedisStore) -> (u64, hapax_core::Timestamp) {
    let counts = store.counts().await.unwrap();
    let row = counts
        .backlog
        .iter()
        .find(|row| row.destination.as_str() == "orders" && row.state == DeliveryState::Pending)
        .unwrap();
    (row.count, row.oldest.unwrap())
}

async fn first_seen(store: &RedisStore, event: &NewEvent) -> hapax_core::Timestamp {
    store.look_up(&event.identity).await.unwrap().unwrap().first_seen
}
