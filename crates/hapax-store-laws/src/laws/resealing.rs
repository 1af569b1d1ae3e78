//! Resealing: rows are rewritten, each only if it is unchanged, and nothing else changes.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::store::{
    AcceptRequest, BodyNote, Claim, ConflictingBody, IdentityRecord, IndexedField, IndexedValue, Record,
    Resealed,
};
use hapax_core::{AttemptOutcome, BodyHash, ContentHash, EventStatus, Headers, Scope};

use crate::Bench;
use crate::bench::Must;
use crate::clock::START;

/// Hashes, headers, bodies, indexed values, responses, conflicts and remembered bodies: all change at once, and nothing
/// else.
pub async fn rows_get_another_form_and_nothing_else_changes(bench: &mut Bench) {
    fill(bench).await;
    let (before, after) = changed(bench.records().await);
    let rows = before.iter().zip(&after).flat_map(|pair| rows(pair.0, pair.1));
    let rows: Vec<Resealed> = rows.collect();
    assert_eq!(rows.len(), 6, "one of each");
    // The second time, no row is still as it was read.
    for _ in 0..2 {
        bench.store.reseal(rows.clone()).await.must();
        assert_eq!(bench.records().await, after);
        bench.reopen().await;
    }
    let entry = bench.look_up("evt_1").await.must();
    assert_eq!(entry.raw_hash, BodyHash::of(b"another"));
    let duplicate = bench.accept(bench.event("evt_1").to("billing")).await;
    assert_eq!(duplicate, Claim::Seen(entry), "it is known as before");
}

/// If another writer was faster, its row stays.
pub async fn a_row_that_has_changed_since_stays_as_it_is(bench: &mut Bench) {
    fill(bench).await;
    let stored = bench.records().await;
    let (mut before, after) = changed(stored.clone());
    for record in &mut before {
        match record {
            Record::Identity(identity) => {
                identity.entry.raw_hash = BodyHash::of(b"was something else");
                let contents = identity.events.first_mut().must();
                contents.event.headers = Headers::pack([("was", &b"something else"[..])]);
                contents.indexed[0].digest += 1;
                contents.attempts[0].attempt.excerpt.push('!');
                identity.conflicts[0].other_body.headers = contents.event.headers.clone();
            }
            Record::Body(note) => note.id = bench.id(),
            Record::Pause(_) | Record::Job(_) | Record::Audit(_) => {}
        }
    }
    let rows = before.iter().zip(&after).flat_map(|pair| rows(pair.0, pair.1));
    bench.store.reseal(rows.collect()).await.must();
    assert_eq!(bench.records().await, stored);
}

/// Deleted rows do not come back.
pub async fn what_is_gone_is_not_resealed(bench: &mut Bench) {
    fill(bench).await;
    let stored = bench.records().await;
    let (mut before, after) = changed(stored.clone());
    for record in &mut before {
        match record {
            Record::Identity(identity) => {
                identity.key = bench.event("gone").build().key;
                for contents in &mut identity.events {
                    contents.event.id = bench.event("gone").build().id;
                }
                for conflict in &mut identity.conflicts {
                    conflict.other_body.first = bench.event("gone").build().id;
                }
            }
            Record::Body(note) => note.raw_hash = BodyHash::of(b"gone"),
            Record::Pause(_) | Record::Job(_) | Record::Audit(_) => {}
        }
    }
    let rows = before.iter().zip(&after).flat_map(|pair| rows(pair.0, pair.1));
    bench.store.reseal(rows.collect()).await.must();
    assert_eq!(bench.records().await, stored);
}

/// A body is found only under its new name, and still belongs to its first event.
pub async fn a_renamed_body_is_still_claimed(bench: &mut Bench) {
    let first = bench.event("one").body("same").holding_same_body().build();
    bench.accept(first.clone().into()).await;
    let note = BodyNote::of(&first);
    let after = BodyNote {
        raw_hash: BodyHash::of(b"renamed"),
        ..note.clone()
    };
    let names: Vec<(Scope, BodyHash)> = [&note, &after]
        .map(|note| (note.scope.clone(), note.raw_hash))
        .into();
    assert_eq!(
        bench.store.remembered(names.clone()).await.must(),
        std::slice::from_ref(&note)
    );
    let row = Resealed::Body {
        before: note,
        after: after.clone(),
    };
    bench.store.reseal(vec![row]).await.must();
    assert_eq!(bench.store.remembered(names.clone()).await.must(), [after]);
    assert!(bench.store.remembered(Vec::new()).await.must().is_empty());
    let other = bench
        .event("two")
        .body("renamed")
        .holding_same_body()
        .to("billing")
        .build();
    let id = other.id;
    bench.accept(other.into()).await;
    let record = bench.record(id).await;
    assert_eq!(
        (record.status, record.same_body_as),
        (EventStatus::Held, Some(first.id))
    );
}

/// A name that is already known keeps its event.
pub async fn a_body_that_is_known_by_its_new_name_loses_the_old_one(bench: &mut Bench) {
    let (one, two) = (
        bench.event("one").body("one").build(),
        bench.event("two").body("two").build(),
    );
    let notes = [BodyNote::of(&one), BodyNote::of(&two)];
    bench.store.note_bodies(notes.to_vec()).await.must();
    let [before, kept] = notes;
    let after = BodyNote {
        raw_hash: kept.raw_hash,
        ..before.clone()
    };
    let names = [&before, &kept].map(|note| (note.scope.clone(), note.raw_hash));
    bench
        .store
        .reseal(vec![Resealed::Body { before, after }])
        .await
        .must();
    assert_eq!(bench.store.remembered(names.into()).await.must(), [kept]);
}

/// One of everything that has a stored form.
async fn fill(bench: &Bench) {
    let field = IndexedField {
        source: "shop".into(),
        pointer: "/id".to_owned(),
    };
    bench.store.declare_indexes(vec![field]).await.must();
    let event = bench
        .event("evt_1")
        .content_hash("rule", b"content")
        .to("billing");
    let event = event.with(|event| {
        event.indexed = IndexedValue::of_body(&event.body, &["/id".to_owned()]);
    });
    let event = event.build();
    let other_body = ConflictingBody {
        key: event.key,
        first: event.id,
        source: event.source.clone(),
        raw_hash: BodyHash::of(b"a conflict"),
        received_at: START,
        headers: Headers::pack([("of", &b"a conflict"[..])]),
        body: Bytes::from_static(b"a conflict"),
    };
    let note = BodyNote::of(&event);
    for _ in 0..2 {
        let request = AcceptRequest {
            events: vec![event.clone()],
        };
        bench.store.accept(vec![request]).await.remove(0).must();
    }
    bench
        .run(
            "billing",
            AttemptOutcome::Retry {
                after: Duration::from_secs(3_600),
            },
        )
        .await;
    bench.record_conflicts(vec![other_body]).await;
    bench.store.note_bodies(vec![note]).await.must();
}

/// The records as they are, and the same with everything rewritten.
fn changed(records: Vec<Record>) -> (Vec<Record>, Vec<Record>) {
    let after = records.iter().cloned().map(|mut record| {
        match &mut record {
            Record::Identity(identity) => change(identity),
            Record::Body(note) => note.raw_hash = BodyHash::of(b"another"),
            Record::Pause(_) | Record::Job(_) | Record::Audit(_) => {}
        }
        record
    });
    let after = after.collect();
    (records, after)
}

fn change(identity: &mut IdentityRecord) {
    let (headers, body) = (
        Headers::pack([("in", &b"another form"[..])]),
        Bytes::from_static(b"in another form"),
    );
    identity.entry.raw_hash = BodyHash::of(b"another");
    identity.entry.content_hash = Some(ContentHash {
        rule: "another rule".to_owned(),
        hash: BodyHash::of(b"another content"),
    });
    for contents in &mut identity.events {
        contents.event.headers = headers.clone();
        contents.event.body = body.clone();
        contents.event.raw_hash = BodyHash::of(b"another");
        for value in &mut contents.indexed {
            value.pointer.push_str("/another");
            value.digest ^= 1;
        }
        for view in &mut contents.attempts {
            "another answer".clone_into(&mut view.attempt.excerpt);
            view.attempt.message = Some("another message".to_owned());
        }
    }
    for conflict in &mut identity.conflicts {
        conflict.other_body.headers = headers.clone();
        conflict.other_body.body = body.clone();
        conflict.other_body.raw_hash = BodyHash::of(b"another conflict");
    }
}

/// The changes that turn one record into another.
fn rows(before: &Record, after: &Record) -> Vec<Resealed> {
    let (before, after) = match (before, after) {
        (Record::Identity(before), Record::Identity(after)) => (before, after),
        (Record::Body(before), Record::Body(after)) => {
            return vec![Resealed::Body {
                before: before.clone(),
                after: after.clone(),
            }];
        }
        _ => return Vec::new(),
    };
    let mut rows = vec![Resealed::Entry {
        key: before.key,
        before: before.entry.clone(),
        after: after.entry.clone(),
    }];
    for (before, after) in before.events.iter().zip(&after.events) {
        let event = before.event.id;
        rows.push(Resealed::Event {
            before: before.event.clone(),
            after: after.event.clone(),
        });
        let indexed = pairs(&before.indexed, &after.indexed);
        rows.extend(indexed.map(|(before, after)| Resealed::Indexed { event, before, after }));
        let attempts = pairs(&before.attempts, &after.attempts);
        rows.extend(attempts.map(|(before, after)| Resealed::Attempt { event, before, after }));
    }
    let conflicts = pairs(&before.conflicts, &after.conflicts);
    rows.extend(conflicts.map(|(before, after)| Resealed::Conflict {
        before: before.other_body,
        after: after.other_body,
    }));
    rows
}

fn pairs<T: Clone>(before: &[T], after: &[T]) -> impl Iterator<Item = (T, T)> {
    before.iter().cloned().zip(after.iter().cloned())
}
