//! Which events are the same, and which are different.

use hapax::{Event, Inbox, Outcome};

use super::{BALANCE, event, for_every_driver, patient};
use crate::subject::{Step, Subject};

for_every_driver!(
    another_body_under_the_same_id_is_a_conflict_and_runs_nothing,
    each_consumer_source_and_generation_applies_an_event_once,
    ids_compare_as_bytes,
);

async fn another_body_under_the_same_id_is_a_conflict_and_runs_nothing<S: Subject>() {
    let subject = S::new().await;
    let first = event("evt_1");
    let other = Event::new("stripe", "evt_1")
        .unwrap()
        .with_body(b"{\"amount\":1}");
    let unknown = Event::new("stripe", "evt_1").unwrap();
    for (event, expected) in [
        (&first, Outcome::Processed(())),
        (&other, Outcome::Conflict),
        (&other, Outcome::Conflict),
        (&first, Outcome::Duplicate),
        (&unknown, Outcome::Duplicate),
    ] {
        assert_eq!(subject.run(&patient(), event, Step::Add).await.unwrap(), expected);
    }
    assert_eq!(subject.number(BALANCE).await, 1);
}

async fn each_consumer_source_and_generation_applies_an_event_once<S: Subject>() {
    let subject = S::new().await;
    let mail = Inbox::new("mail").unwrap();
    let github = Event::new("github", "evt_1").unwrap();
    let next = event("evt_1").in_generation(1);
    let deliveries = [
        (&patient(), &event("evt_1")),
        (&mail, &event("evt_1")),
        (&mail, &github),
        (&mail, &next),
    ];
    for expected in [Outcome::Processed(()), Outcome::Duplicate] {
        for (inbox, event) in &deliveries {
            assert_eq!(subject.run(inbox, event, Step::Add).await.unwrap(), expected);
        }
    }
    assert_eq!(subject.number(BALANCE).await, 4);
}

async fn ids_compare_as_bytes<S: Subject>() {
    let subject = S::new().await;
    let ids = ["evt", "EVT", "evt ", "e\u{301}", "\u{e9}", "1", "01", "1.0"];
    for expected in [Outcome::Processed(()), Outcome::Duplicate] {
        for id in ids {
            assert_eq!(
                subject.run(&patient(), &event(id), Step::Add).await.unwrap(),
                expected,
                "{id:?}"
            );
        }
    }
    assert_eq!(subject.number(BALANCE).await, ids.len() as i64);
}
