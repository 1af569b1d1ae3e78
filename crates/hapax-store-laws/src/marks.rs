//! A string in every place where providers and destinations leave text, to be searched for in a store's data.

use std::sync::Arc;

use bytes::Bytes;
use hapax_core::store::{
    AcceptRequest, BodyTerm, Candidates, Claim, ConflictingBody, EventQuery, IndexedValue, NamedValue,
    Report, ValueSpace, ValueSwap,
};
use hapax_core::{
    Attempt, AttemptOutcome, Backend, BodyHash, ErrorClass, Headers, NewEvent, StoredEvent, Timestamp,
};

use crate::Bench;
use crate::bench::{LONG, Must, order};
use crate::model::{MemorySubject, Restart};

/// The string.
pub const MARK: &str = "M4RK-that-nobody-else-may-read";

/// The indexed field that holds it.
const POINTER: &str = "/name";

/// Where the string was left.
pub struct Marks {
    event: NewEvent,
    other_body: ConflictingBody,
    attempt: Attempt,
    value: NamedValue,
}

/// Leaves the string in a body, a header, a conflict, a response, an error, an index, a remembered body and a value of
/// a source, and reads it back from all of them.
pub async fn leave_marks(store: &dyn Backend) -> Marks {
    let maker = Bench::open(Arc::new(MemorySubject::new(Restart::VoidsLeases))).await;
    let headers = Headers::pack([("x-mark", MARK.as_bytes())]);
    let event = maker.event("evt_1").to("billing").body(body());
    let event = event.with(|event| {
        event.headers = headers.clone();
        event.indexed = vec![IndexedValue::of_term(&term())];
    });
    let event = event.holding_same_body().build();
    for _ in 0..2 {
        let request = AcceptRequest {
            events: vec![event.clone()],
        };
        store.accept(vec![request]).await.remove(0).must();
    }
    let other = Bytes::from(format!("another {MARK}"));
    let other_body = ConflictingBody {
        key: event.key,
        first: event.id,
        source: event.source.clone(),
        raw_hash: BodyHash::of(&other),
        received_at: event.received_at,
        headers,
        body: other,
    };
    store
        .record_conflicts(vec![other_body.clone()])
        .await
        .remove(0)
        .must();
    let leased = store
        .lease(order("billing", 1, LONG, Candidates::Fresh))
        .await
        .must()
        .leased
        .remove(0);
    let attempt = Attempt {
        started_at: Timestamp::from_seconds(1),
        duration_ms: 1,
        status: Some(500),
        excerpt: format!("answered {MARK}"),
        error: Some(ErrorClass::Status),
        message: Some(format!("failed with {MARK}")),
    };
    let report = Report {
        hold: leased.hold(),
        attempt: Some(attempt.clone()),
        outcome: AttemptOutcome::Dead {
            reason: ErrorClass::Status,
        },
    };
    store.finish(vec![report]).await.must();
    let value = NamedValue::new("secret:1", MARK);
    let put = ValueSwap::put(ValueSpace::Source(event.source.clone()), value.clone());
    store.swap_value(put).await.must();
    let marks = Marks {
        event,
        other_body,
        attempt,
        value,
    };
    marks.read_back(store).await;
    marks.find_by_index(store).await;
    marks
}

impl Marks {
    /// Reads the string back from everywhere. Accepting the event again is a duplicate, and its body is remembered.
    pub async fn read_back(&self, store: &dyn Backend) {
        let event = &self.event;
        let record = store.get(event.id).await.must().must();
        assert_eq!(record.event, StoredEvent::from(event.clone()));
        assert_eq!(record.attempts[0].attempt, self.attempt);
        assert_eq!(record.conflicts[0].raw_hash, self.other_body.raw_hash);
        let conflict = store.conflict(event.id, self.other_body.raw_hash).await.must();
        assert_eq!(conflict.as_ref(), Some(&self.other_body));
        let values = store
            .values(&ValueSpace::Source(event.source.clone()))
            .await
            .must();
        assert_eq!(values, std::slice::from_ref(&self.value));
        self.find(store, None).await;
        let request = AcceptRequest {
            events: vec![event.clone()],
        };
        let claim = store.accept(vec![request]).await.remove(0).must().remove(0);
        assert!(
            matches!(&claim, Claim::Seen(entry) if entry.id == event.id && entry.raw_hash == event.raw_hash),
            "{claim:?}"
        );
        let remembered = store
            .remembered(vec![(event.identity.scope.clone(), event.raw_hash)])
            .await;
        assert_eq!(remembered.must()[0].id, event.id);
    }

    /// Finds the event by its index, which starts over when encryption is turned on.
    pub async fn find_by_index(&self, store: &dyn Backend) {
        self.find(store, Some(0)).await;
    }

    async fn find(&self, store: &dyn Backend, by_index: Option<usize>) {
        let query = EventQuery {
            body: vec![term()],
            by_index,
            ..EventQuery::default()
        };
        let found = store.list(&query, None, 10).await.must().events;
        assert_eq!(found.len(), 1, "{by_index:?}");
        assert_eq!(found[0].body_bytes, self.event.body.len() as u64);
    }
}

fn body() -> String {
    format!("{{\"name\":\"{MARK}\"}}")
}

fn term() -> BodyTerm {
    BodyTerm {
        pointer: POINTER.to_owned(),
        value: MARK.to_owned(),
    }
}

/// What must not be found anywhere: the string, and hashes of it or of values that contain it.
pub fn traces() -> Vec<Vec<u8>> {
    let digest = IndexedValue::of_term(&term()).digest;
    vec![
        MARK.as_bytes().to_vec(),
        BodyHash::of(body().as_bytes()).as_bytes().to_vec(),
        BodyHash::of(format!("another {MARK}").as_bytes())
            .as_bytes()
            .to_vec(),
        digest.to_be_bytes().to_vec(),
    ]
}

/// Whether a store's bytes show any of it, in plain text or in hexadecimal.
pub fn is_shown(kept: &[u8]) -> bool {
    let shows = |wanted: &[u8]| kept.windows(wanted.len()).any(|window| window == wanted);
    traces()
        .iter()
        .any(|trace| shows(trace) || shows(hex::encode(trace).as_bytes()))
}
