//! A full disk: requests are refused completely and clearly, nothing acknowledged is lost, and the store recovers on
//! its own.

use std::time::Duration;

use hapax_core::store::{AcceptRequest, Claim, Error, PurgeOrder, PurgeWindow};
use hapax_core::{Identity, Store};
use hapax_store_laws::clock::START;
use hapax_store_sqlite::{Options, SqliteStore};

use crate::bench::{Bench, accept};

const PAGES_MAX: u32 = 300;

#[tokio::test]
async fn a_full_file_refuses_clearly_and_goes_on_once_there_is_room() {
    let bench = Bench::new();
    let options = Options {
        pages_max: Some(PAGES_MAX),
        ..bench.options()
    };
    let store = SqliteStore::open(&bench.path(), options).unwrap();
    let mut stored = Vec::new();
    let refused = loop {
        let event_id = format!("evt_{}", stored.len());
        let draft = bench.event(&event_id).body(vec![b'x'; 8000]).to("sink");
        match accept(&store, draft.build()).await {
            Ok(claim) => {
                assert!(matches!(claim, Claim::New { .. }));
                stored.push(event_id);
            }
            Err(error) => break error,
        }
    };
    assert!(
        matches!(refused, Error::Unavailable { .. }) && refused.is_retryable(),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("disk is full"), "{refused}");

    // A whole request that does not fit leaves nothing behind, not even its first event.
    let events = (0..3)
        .map(|number| {
            let draft = bench.event(&format!("together_{number}"));
            draft.body(vec![b'x'; 8000]).build()
        })
        .collect();
    let answers = store.accept(vec![AcceptRequest { events }]).await;
    assert!(matches!(answers[0], Err(Error::Unavailable { .. })));
    let identity = Identity::new("shop", "together_0");
    assert_eq!(store.look_up(&identity).await.unwrap(), None);

    let counts = store.counts().await.unwrap();
    assert_eq!(
        counts.events,
        stored.len() as u64,
        "exactly the acknowledged events are stored"
    );
    for event_id in &stored {
        let identity = Identity::new("shop", event_id.as_str());
        assert!(store.look_up(&identity).await.unwrap().is_some(), "{event_id}");
    }

    make_room(&store, stored.len()).await;
    let again = bench.event("after").body(vec![b'x'; 8000]).build();
    assert!(matches!(accept(&store, again).await.unwrap(), Claim::New { .. }));
}

/// Completes every delivery and purges the events.
async fn make_room(store: &SqliteStore, count: usize) {
    for _ in 0..count {
        let leased = crate::bench::lease(store, "sink", hapax_core::store::Candidates::Fresh)
            .await
            .unwrap();
        let report = hapax_core::store::Report {
            hold: leased.hold(),
            attempt: None,
            outcome: hapax_core::AttemptOutcome::Completed,
        };
        store.finish(vec![report]).await.unwrap();
    }
    let later = START.plus(Duration::from_secs(1));
    let order = PurgeOrder {
        windows: vec![PurgeWindow {
            source: "shop".into(),
            payload_before: later,
            dead_before: later,
        }],
        ledger_before: START,
        limit: 10_000,
    };
    let purged = store.purge(order).await.unwrap();
    assert_eq!(purged.events, count as u64);
}
