//! Dead letters in groups: by destination and error, largest first.

use hapax_core::store::{DeadGroup, Disposal, ReplayMode};
use hapax_core::{AttemptOutcome, ErrorClass, EventId};

use crate::Bench;
use crate::bench::Must;

/// Each group has its count, its times and its last event; the largest comes first.
pub async fn dead_letters_are_grouped_by_destination_and_error(bench: &mut Bench) {
    let mut last = Vec::new();
    for (number, (to, reason)) in [
        ("billing", ErrorClass::Timeout),
        ("billing", ErrorClass::Refused),
        ("audit", ErrorClass::Timeout),
        ("billing", ErrorClass::Timeout),
        ("billing", ErrorClass::Timeout),
        ("audit", ErrorClass::Timeout),
    ]
    .into_iter()
    .enumerate()
    {
        last.push(died(bench, &format!("evt_{number}"), to, reason).await);
        bench.tick().await;
    }
    bench.completed("fine", "billing").await;
    let groups = bench.store.dead_groups(10).await.must();
    let seen: Vec<_> = groups.iter().map(named).collect();
    assert_eq!(
        seen,
        [
            ("billing", Some(ErrorClass::Timeout), 3, last[4]),
            ("audit", Some(ErrorClass::Timeout), 2, last[5]),
            ("billing", Some(ErrorClass::Refused), 1, last[1]),
        ]
    );
    let (first, newest) = (last[0], last[4]);
    let first = bench.delivery(first, "billing").await;
    let newest = bench.delivery(newest, "billing").await;
    assert_eq!(Some(groups[0].first_at), first.finished_at);
    assert_eq!(Some(groups[0].last_at), newest.finished_at);
    assert_eq!(bench.store.dead_groups(1).await.must(), groups[..1]);
}

/// Replayed or discarded deliveries are in no group; a delivery that died again is in one, once.
pub async fn only_what_is_dead_now_is_in_a_group(bench: &mut Bench) {
    let replayed = died(bench, "replayed", "billing", ErrorClass::Status).await;
    let discarded = died(bench, "discarded", "billing", ErrorClass::Status).await;
    bench.replay(replayed, ReplayMode::Failed).await;
    let disposed = vec![(discarded, "billing".into())];
    bench
        .store
        .dispose(disposed.clone(), Disposal::Discard)
        .await
        .must();
    assert_eq!(bench.store.dead_groups(10).await.must(), []);
    let reason = ErrorClass::Timeout;
    bench.run("billing", AttemptOutcome::Dead { reason }).await;
    bench.store.dispose(disposed, Disposal::Restore).await.must();
    let groups = bench.store.dead_groups(10).await.must();
    assert_eq!(
        groups.iter().map(named).collect::<Vec<_>>(),
        [
            ("billing", Some(ErrorClass::Status), 1, discarded),
            ("billing", Some(ErrorClass::Timeout), 1, replayed),
        ]
    );
}

fn named(group: &DeadGroup) -> (&str, Option<ErrorClass>, u64, EventId) {
    (group.destination.as_str(), group.error, group.count, group.last)
}

/// An event whose delivery died of this error.
async fn died(bench: &Bench, event_id: &str, destination: &str, reason: ErrorClass) -> EventId {
    let id = bench.stored(bench.event(event_id).to(destination)).await;
    assert_eq!(bench.run(destination, AttemptOutcome::Dead { reason }).await, id);
    id
}
