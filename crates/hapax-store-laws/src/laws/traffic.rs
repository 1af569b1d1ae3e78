//! Traffic over time: each process writes its own rows, complete.

use std::time::Duration;

use hapax_core::store::{Redelivered, Subject, TimeRange, Traffic, TrafficRow};
use hapax_core::{Owner, Timestamp};

use crate::Bench;
use crate::bench::Must;

/// A row that is written again replaces itself and nothing else, across restarts.
pub async fn a_row_of_traffic_replaces_itself_alone(bench: &mut Bench) {
    let slot = TimeRange::Hour.slot_of(bench.now().await);
    let shop = Subject::Source("shop".into());
    let billing = Subject::Destination("shop".into());
    let rows = [
        row(TimeRange::Hour, slot, &shop, 1, 5),
        row(TimeRange::Hour, slot, &shop, 2, 6),
        row(TimeRange::Hour, slot, &billing, 1, 7),
        row(TimeRange::Day, TimeRange::Day.slot_of(slot), &shop, 1, 8),
    ];
    bench.store.put_traffic(rows.to_vec()).await.must();
    bench.store.put_traffic(rows.to_vec()).await.must();
    let newer = row(TimeRange::Hour, slot, &shop, 1, 9);
    bench.store.put_traffic(vec![newer.clone()]).await.must();
    bench.reopen().await;
    let hour = bench.store.traffic(TimeRange::Hour).await.must();
    assert_eq!(
        sorted(hour),
        sorted(vec![newer, rows[1].clone(), rows[2].clone()])
    );
    assert_eq!(
        bench.store.traffic(TimeRange::Day).await.must(),
        [rows[3].clone()]
    );
    assert_eq!(bench.store.traffic(TimeRange::Week).await.must(), []);
}

/// Rows are ordered by slot, and sums are returned unchanged.
pub async fn traffic_comes_by_slot_with_its_sums(bench: &mut Bench) {
    let shop = Subject::Source("shop".into());
    let newest = TimeRange::Week.slot_of(bench.now().await);
    let slots: Vec<Timestamp> = (0..4)
        .map(|back| newest.minus(TimeRange::Week.step() * back))
        .collect();
    let mut full = row(TimeRange::Week, newest, &shop, u64::MAX, 1);
    full.traffic.gap_ms_max = 77;
    full.traffic.took.count(Duration::from_millis(12));
    full.traffic.same_bodies = 3;
    for number in 0..2 * Redelivered::IDS_MAX {
        // The longest possible id, with characters that JSON escapes.
        let event_id = format!("{number:03}\"\\{}", "é".repeat(125));
        full.traffic.redelivered.count(&event_id);
        full.traffic
            .gaps
            .count(Duration::from_secs(86_400 * number as u64));
    }
    let mut rows = vec![full.clone()];
    rows.extend(
        slots[1..]
            .iter()
            .map(|slot| row(TimeRange::Week, *slot, &shop, 1, 2)),
    );
    bench.store.put_traffic(rows).await.must();
    let found = bench.store.traffic(TimeRange::Week).await.must();
    let order: Vec<Timestamp> = found.iter().map(|row| row.slot).collect();
    assert_eq!(order, slots.into_iter().rev().collect::<Vec<_>>());
    assert_eq!(found.last().must(), &full);
}

/// Rows too old for any range are deleted with the next write.
pub async fn traffic_that_is_not_shown_any_more_goes(bench: &mut Bench) {
    let shop = Subject::Source("shop".into());
    let now = bench.now().await;
    let rows: Vec<TrafficRow> = TimeRange::ALL
        .into_iter()
        .flat_map(|span| {
            let old = span.oldest(now).minus(span.step());
            [
                row(span, old, &shop, 1, 1),
                row(span, span.slot_of(now), &shop, 1, 1),
            ]
        })
        .collect();
    bench.store.put_traffic(rows).await.must();
    for span in TimeRange::ALL {
        let kept = bench.store.traffic(span).await.must();
        assert_eq!(kept, [row(span, span.slot_of(now), &shop, 1, 1)]);
    }
}

fn row(span: TimeRange, slot: Timestamp, subject: &Subject, owner: u64, accepted: u64) -> TrafficRow {
    TrafficRow {
        range: span,
        slot,
        subject: subject.clone(),
        owner: Owner(owner),
        traffic: Traffic {
            accepted,
            ..Traffic::default()
        },
    }
}

fn sorted(mut rows: Vec<TrafficRow>) -> Vec<TrafficRow> {
    rows.sort_by_key(|row| row.traffic.accepted);
    rows
}
