//! An item that the database can never store is refused alone.

use hapax_core::store::{AcceptRequest, CONFLICTS_MAX, Claim, ConflictRecorded, ConflictingBody, Error};
use hapax_core::{BodyHash, Store};
use hapax_test_postgres::Server;

use crate::bench::{Maker, open, request};

#[tokio::test(flavor = "multi_thread")]
async fn nul_in_a_text_is_refused_and_its_neighbours_are_stored() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    let mut requests: Vec<AcceptRequest> = (0..33)
        .map(|n| request(maker.event(&format!("evt_{n}"))))
        .collect();
    for poisoned in [4, 5, 20] {
        requests[poisoned].events[0].event_type = Some("a\0b".to_owned());
    }
    // A request is refused as a whole.
    requests[7].events.push(maker.event("with\0nul"));
    let answers = store.accept(requests).await;
    for (n, answer) in answers.into_iter().enumerate() {
        if [4, 5, 7, 20].contains(&n) {
            assert!(matches!(answer, Err(Error::Rejected { .. })), "{n}: {answer:?}");
        } else {
            assert!(matches!(answer.unwrap()[0], Claim::New { .. }), "{n}");
        }
    }
    assert_eq!(store.counts().await.unwrap().events, 29);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_first_of_two_duplicates_is_poison_the_second_is_new() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    let mut poison = maker.event("evt_1");
    poison.event_type = Some("\0".to_owned());
    let good = maker.event("evt_1");
    let mut answers = store.accept(vec![request(poison), request(good)]).await;
    assert!(matches!(answers.remove(1).unwrap()[0], Claim::New { .. }));
    assert!(matches!(answers.remove(0), Err(Error::Rejected { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_that_can_never_be_stored_is_refused_alone() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    let events: Vec<_> = (0..5).map(|n| maker.event(&format!("evt_{n}"))).collect();
    for _ in 0..2 {
        store.accept(events.iter().cloned().map(request).collect()).await;
    }
    let other_body = |n: usize| {
        let event = &events[n % events.len()];
        let body = format!("other {n}");
        ConflictingBody {
            key: event.key,
            first: event.id,
            source: if n % 7 == 3 {
                "a\0b".into()
            } else {
                event.source.clone()
            },
            raw_hash: BodyHash::of(body.as_bytes()),
            received_at: event.received_at,
            headers: event.headers.clone(),
            body: body.into(),
        }
    };
    let other_bodies: Vec<ConflictingBody> = (0..33).map(other_body).collect();
    for (n, answer) in store.record_conflicts(other_bodies).await.into_iter().enumerate() {
        if n % 7 == 3 {
            assert!(matches!(answer, Err(Error::Rejected { .. })), "{n}: {answer:?}");
        } else {
            assert_eq!(answer.unwrap(), ConflictRecorded::Kept, "{n}");
        }
    }
    for event in &events {
        let conflicts = store.get(event.id).await.unwrap().unwrap().conflicts;
        assert!((5..=CONFLICTS_MAX).contains(&conflicts.len()));
    }
}
