//! `GET stats?range=…`: traffic over time, summed over all processes.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::store::{Durations, Subject, TimeRange, Traffic, TrafficRow};
use hapax_core::{DestinationId, Timestamp};

use super::api_error::ApiResult;
use super::state::{AdminState, Settings};
use hapax_api::views::{
    DestinationSeriesView, DestinationTrafficView, PercentilesView, SourceSeriesView, SourceTrafficView,
    TrafficView,
};

/// The traffic of a range.
pub async fn over(state: &AdminState, span: TimeRange) -> ApiResult<TrafficView> {
    let (rows, now) = (rows(state, span).await?, state.meter.now());
    Ok(sum(&state.settings.load(), span, now, rows))
}

/// The rows of all processes that the caller may see, including those that this process has not written yet.
pub(super) async fn rows(state: &AdminState, span: TimeRange) -> ApiResult<Vec<TrafficRow>> {
    let stored = state.engine.store().traffic(span).await?;
    let mut rows = state.meter.traffic_on_top_of(stored, span);
    let settings = state.settings.load();
    rows.retain(|row| match &row.subject {
        Subject::Source(name) => state.visible.sees(name.as_str()),
        Subject::Destination(id) => state.visible.is_all() || settings.by_id(id).is_some(),
    });
    Ok(rows)
}

pub(super) fn sum(
    settings: &Settings,
    span: TimeRange,
    now: Timestamp,
    rows: Vec<TrafficRow>,
) -> TrafficView {
    let slots = slots(span, now);
    let mut sources: BTreeMap<String, Series> = settings
        .sources
        .iter()
        .map(|source| (source.name.clone(), Series::new(slots.len())))
        .collect();
    let mut destinations: BTreeMap<DestinationId, Series> = settings
        .destinations
        .iter()
        .map(|destination| (destination.id.clone(), Series::new(slots.len())))
        .collect();
    for row in rows {
        // A row may have just left the range, or come from a process with a clock that is ahead.
        let Ok(place) = slots.binary_search(&row.slot) else {
            continue;
        };
        let series = match row.subject {
            Subject::Source(name) => sources
                .entry(name.to_string())
                .or_insert_with(|| Series::new(slots.len())),
            Subject::Destination(id) => destinations.entry(id).or_insert_with(|| Series::new(slots.len())),
        };
        series.0[place].add(&row.traffic);
    }
    let mut destinations: Vec<_> = destinations
        .into_iter()
        .map(|(id, series)| series.destination(settings.name_of(&id), &id))
        .collect();
    destinations.sort_by(|one, other| one.destination.cmp(&other.destination));
    TrafficView {
        range: span,
        step_seconds: span.step().as_secs(),
        slots,
        sources: sources
            .into_iter()
            .map(|(name, series)| series.source(name))
            .collect(),
        destinations,
    }
}

pub(super) fn slots(span: TimeRange, now: Timestamp) -> Vec<Timestamp> {
    let oldest = span.oldest(now);
    let begins = (0..span.slots()).map(|place| oldest.plus(span.step() * place as u32));
    begins.collect()
}

/// The traffic of one subject by slot.
struct Series(Vec<Traffic>);

impl Series {
    fn new(slots: usize) -> Self {
        Self(vec![Traffic::default(); slots])
    }

    fn total(&self) -> Traffic {
        self.0.iter().fold(Traffic::default(), |mut total, slot| {
            total.add(slot);
            total
        })
    }

    fn each(&self, count: impl Fn(&Traffic) -> u64) -> Vec<u64> {
        self.0.iter().map(count).collect()
    }

    fn source(&self, source: String) -> SourceTrafficView {
        let total = self.total();
        let genuine = total.accepted + total.duplicates + total.conflicts;
        SourceTrafficView {
            source,
            received: genuine + total.rejected,
            accepted: total.accepted,
            duplicates: total.duplicates,
            conflicts: total.conflicts,
            rejected: total.rejected,
            dedupe_ratio: (genuine > 0).then(|| total.duplicates as f64 / genuine as f64),
            gap_ms_max: total.gap_ms_max,
            ack: percentiles(&total.took),
            series: SourceSeriesView {
                accepted: self.each(|slot| slot.accepted),
                duplicates: self.each(|slot| slot.duplicates),
                conflicts: self.each(|slot| slot.conflicts),
                rejected: self.each(|slot| slot.rejected),
            },
        }
    }

    fn destination(&self, name: String, id: &DestinationId) -> DestinationTrafficView {
        let total = self.total();
        DestinationTrafficView {
            destination: name,
            destination_id: id.to_string(),
            attempts: total.completed + total.failed + total.dead,
            completed: total.completed,
            failed: total.failed,
            dead: total.dead,
            took: percentiles(&total.took),
            series: DestinationSeriesView {
                completed: self.each(|slot| slot.completed),
                failed: self.each(|slot| slot.failed),
                dead: self.each(|slot| slot.dead),
            },
        }
    }
}

pub(super) fn percentiles(durations: &Durations) -> PercentilesView {
    let millis = |share| durations.percentile(share).map(in_millis);
    PercentilesView {
        count: durations.len(),
        p50_ms: millis(0.5),
        p95_ms: millis(0.95),
        p99_ms: millis(0.99),
    }
}

/// To the microsecond: further digits would suggest false precision.
fn in_millis(took: Duration) -> f64 {
    took.as_micros() as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hapax_core::Owner;

    use super::*;
    use hapax_config::{self as config, Environment};

    fn settings() -> Settings {
        let config = config::parse("", Path::new("hapax.toml"), &Environment::with([]), &[]);
        Settings::from(&config.unwrap())
    }

    fn row(slot: Timestamp, owner: u64, accepted: u64, millis: u64) -> TrafficRow {
        let mut traffic = Traffic {
            accepted,
            duplicates: 1,
            ..Traffic::default()
        };
        traffic.took.count(Duration::from_millis(millis));
        TrafficRow {
            range: TimeRange::Hour,
            slot,
            subject: Subject::Source("stripe".into()),
            owner: Owner(owner),
            traffic,
        }
    }

    #[test]
    fn rows_of_all_processes_add_up_and_what_left_the_span_does_not_count() {
        let now = Timestamp::from_seconds(1_767_225_600);
        let oldest = TimeRange::Hour.oldest(now);
        let rows = vec![
            row(TimeRange::Hour.slot_of(now), 1, 2, 10),
            row(TimeRange::Hour.slot_of(now), 2, 3, 10),
            row(oldest, 1, 4, 10),
            row(oldest.minus(TimeRange::Hour.step()), 1, 100, 10),
        ];
        let view = sum(&settings(), TimeRange::Hour, now, rows);
        let source = &view.sources[0];
        assert_eq!((source.accepted, source.duplicates, source.received), (9, 3, 12));
        assert_eq!((source.series.accepted[0], source.series.accepted[59]), (4, 5));
        assert_eq!((view.slots.len(), source.series.accepted.len()), (60, 60));
        assert_eq!(source.dedupe_ratio, Some(0.25));
        let p50 = source.ack.p50_ms.unwrap();
        assert!((p50 / 10.0 - 1.0).abs() < 0.1, "{p50}");
    }
}
