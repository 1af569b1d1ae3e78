//! What keys promise: rotation, turning encryption on, values in the wrong row, missing keys.
#![expect(clippy::unwrap_used, reason = "a failed setup step fails the test")]

use std::sync::Arc;

use hapax_core::store::{
    AcceptRequest, BodyNote, Claim, ConflictRecorded, ConflictingBody, Error, EventQuery, NamedValue,
    Unfinished, ValueSpace, ValueSwap,
};
use hapax_core::{Backend, EventStatus, Headers, NewEvent, Secret, StoredEvent, Timestamp};
use hapax_seal::{Keys, OpenError, Reencrypted, Sealed, Writes};
use hapax_store_laws::bench::Must;
use hapax_store_laws::model::{MemorySubject, Restart};
use hapax_store_laws::{Bench, ManualClock, MemoryStore, re_encrypt, turn_on_and_rotate};

const OLD: &str = "the old key, which is long enough for a key";
const NEW: &str = "the new key, which is long enough for a key";

fn store() -> Arc<dyn Backend> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::new())))
}

async fn open(store: &Arc<dyn Backend>, writes: Writes, keys: &[&str]) -> Result<Sealed, OpenError> {
    let keys: Vec<Secret> = keys.iter().map(|key| Secret::new(*key)).collect();
    Sealed::open(Arc::clone(store), Keys::new(writes, &keys).unwrap()).await
}

async fn sealed(store: &Arc<dyn Backend>, keys: &[&str]) -> Sealed {
    open(store, Writes::Sealed, keys).await.unwrap()
}

/// Creates events; its own store is not used.
async fn bench() -> Bench {
    Bench::open(Arc::new(MemorySubject::new(Restart::VoidsLeases))).await
}

async fn accept(store: &dyn Backend, event: &NewEvent) -> Claim {
    let request = AcceptRequest {
        events: vec![event.clone()],
    };
    let answer = store.accept(vec![request]).await.pop().unwrap();
    answer.unwrap().pop().unwrap()
}

fn is_new(claim: &Claim) -> bool {
    matches!(claim, Claim::New { .. })
}

/// Whether a claim says that the event is known, with this very body.
fn is_copy(claim: &Claim, event: &NewEvent) -> bool {
    matches!(claim, Claim::Seen(entry) if entry.raw_hash == event.raw_hash && entry.content_hash == event.content_hash)
}

#[tokio::test]
async fn a_rotation_in_two_steps_loses_nothing_on_two_replicas() {
    let (bench, inner) = (bench().await, store());
    let first = bench.event("evt_1").content_hash("rule", b"content").build();
    assert!(is_new(&accept(&sealed(&inner, &[OLD]).await, &first).await));
    // First every replica learns the new key; then one after another writes with it.
    let (one, other) = (
        sealed(&inner, &[OLD, NEW]).await,
        sealed(&inner, &[NEW, OLD]).await,
    );
    for (replica, name) in [(&one, "evt_2"), (&other, "evt_3")] {
        assert!(is_copy(&accept(replica, &first).await, &first));
        let event = bench.event(name).build();
        assert!(is_new(&accept(replica, &event).await));
        for reader in [&one, &other] {
            assert!(is_copy(&accept(reader, &event).await, &event));
            let stored = hapax_core::Store::get(reader, event.id).await.unwrap().unwrap();
            assert_eq!(stored.event, StoredEvent::from(event.clone()));
        }
    }
}

#[tokio::test]
async fn a_wrong_or_missing_key_is_refused_at_the_start_and_nothing_changes() {
    let (bench, inner) = (bench().await, store());
    let event = bench.event("evt_1").build();
    accept(&sealed(&inner, &[OLD]).await, &event).await;
    let keyring = inner.values(&ValueSpace::Alerts).await.unwrap();
    let wrong = open(&inner, Writes::Sealed, &[NEW]).await.unwrap_err();
    assert!(matches!(wrong, OpenError::WrongKeys { .. }), "{wrong}");
    let none = Sealed::refuse_encrypted(&*inner).await.unwrap_err();
    assert!(matches!(none, OpenError::NoKeys(_)), "{none}");
    assert_eq!(inner.values(&ValueSpace::Alerts).await.unwrap(), keyring);
    accept(&sealed(&inner, &[NEW, OLD]).await, &event).await;
    let retired = open(&inner, Writes::Sealed, &[NEW]).await.unwrap_err();
    assert!(matches!(retired, OpenError::MissingKeys(_)), "{retired}");
    let text = retired.to_string();
    assert!(
        text.contains("add that key again") && !text.contains(OLD),
        "{text}"
    );
    assert!(is_copy(
        &accept(&sealed(&inner, &[NEW, OLD]).await, &event).await,
        &event
    ));
}

#[tokio::test]
async fn what_came_before_there_were_keys_is_a_duplicate_and_reads_as_it_did() {
    let (bench, inner) = (bench().await, store());
    let event = bench.event("evt_1").content_hash("rule", b"content").build();
    accept(&*inner, &event).await;
    let other_body = conflicting_body_of(&event, "another body");
    let kept = |answers: Vec<Result<ConflictRecorded, Error>>| answers.into_iter().next().unwrap().unwrap();
    assert_eq!(
        kept(inner.record_conflicts(vec![other_body.clone()]).await),
        ConflictRecorded::Kept
    );
    for writes in [Writes::Plain, Writes::Sealed, Writes::Plain] {
        let store = open(&inner, writes, &[NEW]).await.unwrap();
        let store: &dyn Backend = &store;
        for _ in 0..2 {
            assert!(is_copy(&accept(store, &event).await, &event));
        }
        assert_eq!(
            store.get(event.id).await.unwrap().unwrap().event,
            StoredEvent::from(event.clone())
        );
        assert_eq!(
            store.look_up(&event.identity).await.unwrap().unwrap().raw_hash,
            event.raw_hash
        );
        assert_eq!(
            kept(store.record_conflicts(vec![other_body.clone()]).await),
            ConflictRecorded::Again
        );
        assert_eq!(
            store
                .conflict(event.id, other_body.raw_hash)
                .await
                .unwrap()
                .unwrap(),
            other_body
        );
        let page = store.list(&EventQuery::default(), None, 10).await.unwrap();
        assert!(
            page.events
                .iter()
                .all(|summary| summary.body_bytes == event.body.len() as u64)
        );
        assert!(sealed_at_start(&inner).await || writes == Writes::Plain);
    }
}

/// Whether the store has a keyring at all.
async fn sealed_at_start(inner: &Arc<dyn Backend>) -> bool {
    Sealed::refuse_encrypted(&**inner).await.is_err()
}

#[tokio::test]
async fn a_value_from_another_row_is_refused_by_name() {
    let (bench, inner) = (bench().await, store());
    let store = sealed(&inner, &[OLD]).await;
    let (one, other) = (
        bench.event("evt_1").build(),
        bench.event("evt_2").to("billing").build(),
    );
    accept(&store, &one).await;
    // Someone with write access to the store gives the second event the first one's payload.
    let stolen = inner.get(one.id).await.unwrap().unwrap().event;
    let forged = NewEvent {
        headers: stolen.headers,
        body: stolen.body,
        ..other.clone()
    };
    accept(&*inner, &forged).await;
    let error = hapax_core::Store::get(&store, other.id).await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(&other.id.to_string()), "{error}");
    // It is not delivered, but not lost either: it waits.
    let order = hapax_store_laws::bench::order(
        "billing",
        10,
        hapax_store_laws::bench::LONG,
        hapax_core::store::Candidates::Fresh,
    );
    assert!(
        hapax_core::Store::lease(&store, order)
            .await
            .unwrap()
            .leased
            .is_empty()
    );
    let delivery = inner.get(other.id).await.unwrap().unwrap().deliveries.remove(0);
    assert!(delivery.state.is_unfinished());
    assert_eq!(
        hapax_core::Store::get(&store, one.id).await.unwrap().must().event,
        StoredEvent::from(one)
    );
}

#[tokio::test]
async fn what_a_state_key_has_sealed_is_read_and_sealed_again() {
    use aws_lc_rs::aead::{AES_256_GCM, Aad, RandomizedNonceKey};
    use aws_lc_rs::digest::{SHA256, digest};

    let inner = store();
    let key = digest(&SHA256, format!("hapax-state-key:v1\n{OLD}").as_bytes());
    let key = RandomizedNonceKey::new(&AES_256_GCM, key.as_ref()).unwrap();
    let mut value = b"hunter2".to_vec();
    let nonce = key
        .seal_in_place_append_tag(Aad::from(b"asana\nsecret:1"), &mut value)
        .unwrap();
    let space = ValueSpace::Source("asana".into());
    let legacy = NamedValue::new("secret:1", [nonce.as_ref().as_slice(), &value].concat());
    let put = ValueSwap::put(space.clone(), legacy.clone());
    inner.swap_value(put).await.unwrap();
    for keys in [&[OLD][..], &[NEW, OLD], &[NEW, OLD]] {
        let store = sealed(&inner, keys).await;
        let values = hapax_core::Operations::values(&store, &space).await.unwrap();
        assert_eq!(values[0].value, b"hunter2");
        let stored = inner.values(&space).await.unwrap();
        assert_ne!(stored[0].value, legacy.value);
        assert!(!stored[0].value.windows(7).any(|window| window == b"hunter2"));
    }
}

#[tokio::test]
async fn a_store_is_turned_on_and_rotated_without_leaving_anything_behind() {
    turn_on_and_rotate(&store()).await;
}

#[tokio::test]
async fn a_key_is_needed_until_nobody_has_written_with_it_for_a_while() {
    let (bench, inner, at) = (bench().await, store(), Timestamp::from_seconds);
    let needed = async |store: &Sealed, seconds| {
        re_encrypt(store, at(seconds)).await;
        store.rows().keys.len()
    };
    let old = sealed(&inner, &[OLD, NEW]).await;
    let new = sealed(&inner, &[NEW, OLD]).await;
    assert_eq!(needed(&old, 1_000).await, 1, "of the old one");
    accept(&old, &bench.event("evt_1").build()).await;
    // The walk finds nothing left, but rows written behind its back would be lost with the key.
    assert_eq!(needed(&new, 1_100).await, 2);
    accept(&old, &bench.event("evt_2").build()).await;
    assert!(open(&inner, Writes::Sealed, &[NEW]).await.is_err());
    drop(old);
    assert_eq!(needed(&new, 1_140).await, 2);
    assert_eq!(needed(&new, 1_160).await, 1);
    let only = sealed(&inner, &[NEW]).await;
    for name in ["evt_1", "evt_2"] {
        let event = bench.event(name).build();
        assert!(is_copy(&accept(&only, &event).await, &event));
        let entry = hapax_core::Store::look_up(&only, &event.identity)
            .await
            .unwrap()
            .unwrap();
        assert!(hapax_core::Store::get(&only, entry.id).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn one_replica_walks_and_another_goes_on_where_it_stopped() {
    let (bench, inner) = (bench().await, store());
    for number in 0..120 {
        accept(&*inner, &bench.event(&format!("evt_{number}")).build()).await;
    }
    let (one, other) = (sealed(&inner, &[NEW]).await, sealed(&inner, &[NEW]).await);
    let at = Timestamp::from_seconds;
    assert_eq!(
        one.reencrypt(at(10)).await.unwrap(),
        Reencrypted::Some { values: 100 }
    );
    assert_eq!(
        other.reencrypt(at(11)).await.unwrap(),
        Reencrypted::Nothing,
        "another process is walking"
    );
    // It records its progress, and then dies.
    assert_eq!(
        one.reencrypt(at(20)).await.unwrap(),
        Reencrypted::Some { values: 100 }
    );
    drop(one);
    assert_eq!(other.reencrypt(at(79)).await.unwrap(), Reencrypted::Nothing);
    assert_eq!(
        other.reencrypt(at(81)).await.unwrap(),
        Reencrypted::Some { values: 40 }
    );
    while other.reencrypt(at(82)).await.unwrap() != Reencrypted::Nothing {}
    assert!(!other.rows().plain);
}

#[tokio::test]
async fn a_row_that_cannot_be_opened_keeps_its_key_needed_and_stops_nobody() {
    let (bench, inner) = (bench().await, store());
    let old = sealed(&inner, &[OLD]).await;
    let (one, other) = (bench.event("evt_1").build(), bench.event("evt_2").build());
    accept(&old, &one).await;
    let stolen = inner.get(one.id).await.unwrap().unwrap().event;
    let forged = NewEvent {
        headers: stolen.headers,
        body: stolen.body,
        ..other
    };
    accept(&*inner, &forged).await;
    let new = sealed(&inner, &[NEW, OLD]).await;
    re_encrypt(&new, Timestamp::from_seconds(1_000)).await;
    assert_eq!(new.rows().keys.len(), 2);
    let stored = inner.get(one.id).await.unwrap().unwrap().event;
    assert!(open(&inner, Writes::Sealed, &[NEW]).await.is_err());
    assert_ne!(
        stored.headers, forged.headers,
        "the other row is under the new key"
    );
}

#[tokio::test]
async fn the_same_body_is_held_and_flagged_across_the_day_on_which_encryption_is_turned_on_or_off() {
    let steps = [
        (None, Some(Writes::Sealed)),
        (None, Some(Writes::Plain)),
        (Some(Writes::Plain), Some(Writes::Sealed)),
        (Some(Writes::Sealed), Some(Writes::Plain)),
    ];
    for (before, after) in steps {
        let (bench, inner) = (bench().await, store());
        let behind = async |writes| -> Arc<dyn Backend> {
            match writes {
                Some(writes) => Arc::new(open(&inner, writes, &[NEW]).await.unwrap()),
                None => Arc::clone(&inner),
            }
        };
        let first = bench
            .event("one")
            .body("same")
            .holding_same_body()
            .to("billing")
            .build();
        let noted = bench.event("three").body("noted").build();
        let store = behind(before).await;
        accept(&*store, &first).await;
        accept(&*store, &noted).await;
        store.note_bodies(vec![BodyNote::of(&noted)]).await.unwrap();
        let store = behind(after).await;
        let second = bench
            .event("two")
            .body("same")
            .holding_same_body()
            .to("billing")
            .build();
        let flagged = bench.event("four").body("noted").build();
        accept(&*store, &second).await;
        accept(&*store, &flagged).await;
        store.note_bodies(vec![BodyNote::of(&flagged)]).await.unwrap();
        let held = store.get(second.id).await.unwrap().unwrap();
        assert_eq!(held.status, EventStatus::Held, "{before:?} to {after:?}");
        assert_eq!(held.same_body_as, Some(first.id));
        let flagged = store.get(flagged.id).await.unwrap().unwrap();
        assert_eq!(flagged.same_body_as, Some(noted.id), "{before:?} to {after:?}");
    }
}

#[tokio::test]
async fn an_erased_event_stays_erased_and_known_across_turning_on_and_migrations() {
    let (bench, inner) = (bench().await, store());
    let (before, after) = (bench.event("evt_1").build(), bench.event("evt_2").build());
    accept(&*inner, &before).await;
    let store = sealed(&inner, &[OLD]).await;
    accept(&store, &after).await;
    let ids = vec![before.id, after.id];
    hapax_core::Operations::erase(&store, ids, Unfinished::Keep)
        .await
        .unwrap();
    for _ in 0..2 {
        for event in [&before, &after] {
            let record = hapax_core::Store::get(&store, event.id).await.unwrap().unwrap();
            assert!(record.event.headers.is_erased() && record.event.body.is_empty());
            assert_eq!(record.event.raw_hash, event.raw_hash);
            assert!(is_copy(&accept(&store, event).await, event));
            let kept = inner.get(event.id).await.unwrap().unwrap().event;
            assert!(kept.headers.is_erased(), "the store itself must know");
        }
        re_encrypt(&store, Timestamp::from_seconds(1_000)).await;
        let kept = inner.get(before.id).await.unwrap().unwrap().event;
        assert_ne!(kept.raw_hash, before.raw_hash, "the hash is a digest now");
    }
    assert!(!store.rows().plain);
}

fn conflicting_body_of(event: &NewEvent, body: &str) -> ConflictingBody {
    ConflictingBody {
        key: event.key,
        first: event.id,
        source: event.source.clone(),
        raw_hash: hapax_core::BodyHash::of(body.as_bytes()),
        received_at: event.received_at,
        headers: Headers::pack([("a", &b"b"[..])]),
        body: bytes::Bytes::copy_from_slice(body.as_bytes()),
    }
}
