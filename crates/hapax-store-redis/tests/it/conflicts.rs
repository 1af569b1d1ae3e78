//! Conflicts when a source waits for replicas.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::store::{ConflictRecorded, ConflictingBody};
use hapax_core::{BodyHash, NewEvent, Store};
use hapax_store_redis::{Options, RedisStore};
use hapax_test_redis::{Server, fresh_prefix};

use crate::bench::{Maker, accept_again, accept_new, open};

#[tokio::test]
async fn a_conflict_is_answered_once_the_replicas_have_it() {
    let server = Server::shared().unwrap();
    let url = server.url_with_prefix(&fresh_prefix());
    let plain = open(&url).await;
    let event = Maker::default().event("evt_1");
    accept_new(&plain, &event).await;
    accept_again(&plain, &event).await;
    let options = Options {
        wait: BTreeMap::from([("shop".into(), 1)]),
        wait_timeout: Duration::from_millis(50),
        ..Options::new(&url)
    };
    let waiting = RedisStore::open(options).await.unwrap();
    // There is no replica, so no number of tries is enough.
    for _ in 0..2 {
        let refused = waiting
            .record_conflicts(vec![other_body(&event)])
            .await
            .remove(0)
            .unwrap_err();
        assert!(
            refused.is_retryable() && refused.to_string().contains("replicas"),
            "{refused}"
        );
    }
    let kept = plain
        .record_conflicts(vec![other_body(&event)])
        .await
        .remove(0)
        .unwrap();
    assert_eq!(
        kept,
        ConflictRecorded::Again,
        "it was stored, but not acknowledged"
    );
}

fn other_body(event: &NewEvent) -> ConflictingBody {
    ConflictingBody {
        key: event.key,
        first: event.id,
        source: event.source.clone(),
        raw_hash: BodyHash::of(b"other"),
        received_at: event.received_at,
        headers: event.headers.clone(),
        body: "other".into(),
    }
}
