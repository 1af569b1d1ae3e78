//! A store with something of everything, and everything that can be read from it: what the migration laws compare.

use std::time::Duration;

use hapax_core::store::{
    AuditEntry, AuditRecord, Backlog, BodyNote, BodyTerm, Claim, ConflictingBody, DeadQuery, DeliveryView,
    DuplicateCount, DuplicateNote, EventQuery, EventRecord, EventSummary, Has, IndexedValue, LedgerCount,
    LedgerEntry, Pause, PurgeOrder, PurgeWindow, ReplayJob, ReplayJobId, ReplayJobState, ReplayMode,
    ReplayTally,
};
use hapax_core::{AttemptOutcome, BodyHash, DeliveryState, EventId, Headers, Identity, OnDead};

use crate::Bench;
use crate::bench::{ALL, LONG, Must, dead};
use crate::clock::START;

const IDS: [&str; 13] = [
    "completed",
    "dead",
    "retrying",
    "open",
    "ignored",
    "again",
    "forgotten",
    "gone",
    "replayed",
    "held_0",
    "held_1",
    "batch",
    "discarded",
];

/// The contents of a filled store, to look them up again.
pub(super) struct Filled {
    events: Vec<EventId>,
    job: ReplayJobId,
    conflict: (EventId, BodyHash),
}

/// Everything that can be read. Attempts keep their tokens, so that these are compared as well.
#[derive(Debug, PartialEq)]
pub(super) struct Looks {
    events: Vec<String>,
    entries: Vec<Option<LedgerEntry>>,
    list: Vec<EventSummary>,
    backlog: Vec<Backlog>,
    ledger: Vec<LedgerCount>,
    stored: u64,
    dead: Vec<DeliveryView>,
    discarded: Vec<DeliveryView>,
    pauses: Vec<Pause>,
    audit: Vec<AuditRecord>,
    job: Option<ReplayJob>,
    conflict: Option<ConflictingBody>,
    found: Vec<Vec<EventId>>,
}

impl Looks {
    pub(super) async fn at(bench: &Bench, filled: &Filled) -> Self {
        let counts = bench.store.counts().await.must();
        let mut entries = Vec::new();
        for id in IDS {
            entries.push(bench.look_up(id).await);
        }
        let mut events = Vec::new();
        for id in &filled.events {
            events.push(in_words(bench.store.get(*id).await.must().as_ref()));
        }
        Self {
            events,
            entries,
            list: bench.list(&EventQuery::default(), 3).await,
            backlog: counts.backlog,
            ledger: counts.ledger,
            stored: counts.events,
            dead: finished(bench, DeliveryState::Dead).await,
            discarded: finished(bench, DeliveryState::Discarded).await,
            pauses: bench.store.pauses().await.must(),
            audit: bench.store.audit(None, ALL).await.must().0,
            job: bench.store.replay_job(filled.job).await.must().map(walked_again),
            conflict: bench
                .store
                .conflict(filled.conflict.0, filled.conflict.1)
                .await
                .must(),
            found: found(bench).await,
        }
    }
}

/// Events found by index: with duplicates, with conflicts, and by an indexed value.
async fn found(bench: &Bench) -> Vec<Vec<EventId>> {
    let queries = [
        EventQuery {
            duplicates: Some(DuplicateCount { min: 1, max: None }),
            ..EventQuery::default()
        },
        EventQuery {
            has: Some(Has::Conflict),
            ..EventQuery::default()
        },
        EventQuery {
            body: vec![indexed_term()],
            by_index: Some(0),
            ..EventQuery::default()
        },
    ];
    let mut found = Vec::new();
    for query in queries {
        let events = bench.list(&query, 2).await;
        assert!(!events.is_empty(), "there is something of everything");
        found.push(events.into_iter().map(|event| event.id).collect());
    }
    found
}

fn indexed_term() -> BodyTerm {
    BodyTerm {
        pointer: "/id".to_owned(),
        value: "open".to_owned(),
    }
}

/// Everything about an event as text: records do not implement equality.
fn in_words(record: Option<&EventRecord>) -> String {
    format!("{record:?}")
}

/// A job that resumes after a migration begins its walk again.
fn walked_again(job: ReplayJob) -> ReplayJob {
    ReplayJob { cursor: None, ..job }
}

async fn finished(bench: &Bench, state: DeliveryState) -> Vec<DeliveryView> {
    let query = DeadQuery {
        state,
        destination: None,
    };
    bench.store.deliveries(&query, None, ALL).await.must().0
}

/// Something of everything that a store can hold, with nothing running.
pub(super) async fn fill(bench: &Bench) -> Filled {
    let mut events = vec![ledger_only(bench, "gone").await];
    events.push(bench.completed("completed", "billing").await);
    events.push(bench.dead("dead", "billing").await);
    events.push(bench.stored(bench.event("retrying").to("late").to("other")).await);
    bench.run("late", AttemptOutcome::Retry { after: LONG }).await;
    events.push(
        bench
            .stored(
                bench
                    .event("open")
                    .to("open")
                    .content_hash("rule", b"content")
                    .with(|event| event.indexed = vec![IndexedValue::of_term(&indexed_term())]),
            )
            .await,
    );
    events.push(bench.stored(bench.event("ignored").body(vec![0, 255, 10])).await);
    events.extend(twice(bench).await);
    events.push(discarded(bench).await);
    let replayed = bench.dead("replayed", "billing").await;
    bench.replay(replayed, ReplayMode::Failed).await;
    bench.run("billing", AttemptOutcome::Completed).await;
    events.push(replayed);
    for id in ["held_0", "held_1"] {
        let draft = bench.event(id).in_lane("orders", "customer", OnDead::Hold);
        events.push(bench.stored(draft).await);
    }
    bench.run("orders", dead()).await;
    let batch = bench.id();
    events.push(
        bench
            .stored(
                bench
                    .event("batch")
                    .to("open")
                    .with(|event| event.batch = Some((batch, 3))),
            )
            .await,
    );
    let conflict = beside(bench, &events).await;
    let job = operate(bench).await;
    Filled {
        events,
        job,
        conflict,
    }
}

/// An identity whose event was purged.
pub(super) async fn ledger_only(bench: &Bench, event_id: &str) -> EventId {
    let id = bench
        .stored(bench.event(event_id).from_source("short-lived"))
        .await;
    let order = PurgeOrder {
        windows: vec![window("short-lived")],
        ledger_before: START,
        limit: ALL,
    };
    assert_eq!(bench.purge(&order).await.events, 1);
    id
}

/// An order that purges everything.
pub(super) fn everything() -> PurgeOrder {
    PurgeOrder {
        windows: vec![window("shop"), window("short-lived")],
        ledger_before: START.plus(Duration::from_secs(4_000 * 86_400)),
        limit: ALL,
    }
}

fn window(source: &str) -> PurgeWindow {
    let later = START.plus(Duration::from_secs(4_000 * 86_400));
    PurgeWindow {
        source: source.into(),
        payload_before: later,
        dead_before: later,
    }
}

/// One identity that was forgotten, and one that was accepted again.
async fn twice(bench: &Bench) -> Vec<EventId> {
    let mut events = Vec::new();
    for id in ["again", "forgotten"] {
        events.push(bench.completed(id, "billing").await);
        bench.store.forget(&Identity::new("shop", id)).await.must();
    }
    events.push(bench.stored(bench.event("again").to("open")).await);
    events
}

async fn discarded(bench: &Bench) -> EventId {
    let id = bench.dead("discarded", "billing").await;
    let one = vec![(id, "billing".into())];
    bench
        .store
        .dispose(one, hapax_core::store::Disposal::Discard)
        .await
        .must();
    id
}

/// Duplicates, a conflict, and the same body under another id.
async fn beside(bench: &Bench, events: &[EventId]) -> (EventId, BodyHash) {
    let first = bench.look_up("completed").await.must();
    let claim = bench.accept(bench.event("completed")).await;
    assert!(matches!(claim, Claim::Seen(_)), "{claim:?}");
    let key = Identity::new("shop", "completed").key();
    let note = DuplicateNote {
        key,
        count: 3,
        last_at: START,
        gaps_ms: vec![5, 70, 900],
    };
    bench.store.note_duplicates(vec![note]).await.must();
    let other_body = |body: &'static [u8]| ConflictingBody {
        key,
        first: first.id,
        source: "shop".into(),
        raw_hash: BodyHash::of(body),
        received_at: START,
        headers: Headers::pack([("x-odd", &b"\xff"[..])]),
        body: body.into(),
    };
    let other_bodies = vec![other_body(b"one"), other_body(b"other"), other_body(b"one")];
    bench.record_conflicts(other_bodies).await;
    let conflict = (first.id, BodyHash::of(b"other"));
    bench
        .store
        .mark_released(conflict.0, conflict.1, events[3])
        .await
        .must();
    let raw_hash = BodyHash::of(b"the same body");
    for id in [events[1], events[2]] {
        let note = BodyNote {
            scope: "shop".into(),
            raw_hash,
            id,
            until: START.plus(Duration::from_secs(4_000 * 86_400)),
        };
        bench.store.note_bodies(vec![note]).await.must();
    }
    conflict
}

/// A pause, entries of the audit trail, and a replay job in progress.
async fn operate(bench: &Bench) -> ReplayJobId {
    let pause = Pause {
        destination: "other".into(),
        at: START,
        by: "somebody".to_owned(),
        why: "a reason".to_owned(),
    };
    bench.store.pause(pause).await.must();
    for n in 0..3 {
        let entry = AuditEntry {
            who: "somebody".to_owned(),
            action: "pause".to_owned(),
            subject: format!("subject {n}"),
            detail: String::new(),
        };
        bench.store.record(entry).await.must();
    }
    let id = ReplayJobId(bench.id());
    let job = ReplayJob {
        id,
        query: EventQuery::default(),
        mode: ReplayMode::All,
        to: None,
        rate_per_second: 10,
        as_of: START,
        cursor: Some(12),
        state: ReplayJobState::Running,
        who: "somebody".to_owned(),
        why: "a reason".to_owned(),
        tally: ReplayTally::default(),
    };
    bench.store.create_replay(job).await.must();
    id
}
