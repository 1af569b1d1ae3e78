//! Traffic over time: the rows of all processes, added up for the charts and figures.

mod attention;

use std::collections::BTreeMap;

use hapax_core::store::{Backlog, Counts, Span, Subject, Traffic, TrafficRow};
use hapax_core::{Clock as _, DeliveryState, DestinationId, SystemClock, Timestamp};

use super::destinations;
use super::fault::Answer;
use super::state::AdminState;
use super::views::{
    ArrivalsView, AttemptsView, DestinationTrafficView, DestinationView, SourceTrafficView, TrafficView,
};

/// What happened within a span, and what needs attention.
pub(in crate::http) async fn over(state: &AdminState, span: Span) -> Answer<TrafficView> {
    let now = SystemClock::default().now();
    let store = state.engine.store();
    let rows = state.meter.traffic_on_top_of(store.traffic(span).await?, span);
    let (counts, pauses) = (state.counts.read(store.as_ref()).await, store.pauses().await?);
    let sums = Sums::of(rows, span, now);
    let places = destinations::all(state, &counts, &pauses);
    let sources: Vec<_> = names_of_sources(state)
        .into_iter()
        .map(|name| sums.source(name))
        .collect();
    let all = sums.total();
    let totals = ArrivalsView::from(&all.0);
    let mut view = TrafficView {
        span,
        from: span.oldest(now),
        step_seconds: span.step().as_secs(),
        totals,
        dedupe_ratio: totals.dedupe_ratio(),
        ack: (&all.0.took).into(),
        handler: (&all.1.took).into(),
        sources,
        destinations: places
            .iter()
            .map(|place| sums.destination(place, &counts))
            .collect(),
        attention: Vec::new(),
    };
    view.attention = attention::of(state, &view, &places, now);
    Ok(view)
}

fn names_of_sources(state: &AdminState) -> Vec<String> {
    let settings = state.settings.load();
    settings
        .sources
        .iter()
        .map(|source| source.name.clone())
        .collect()
}

/// The sums of all processes, by subject and slot.
struct Sums {
    slots: usize,
    by_subject: BTreeMap<Subject, Vec<Traffic>>,
}

impl Sums {
    fn of(rows: Vec<TrafficRow>, span: Span, now: Timestamp) -> Self {
        let (from, slots) = (span.oldest(now), span.slots() as usize);
        let mut by_subject = BTreeMap::<Subject, Vec<Traffic>>::new();
        for row in rows {
            let index = row.slot.since(from).as_secs() / span.step().as_secs();
            let is_shown = row.slot >= from && (index as usize) < slots;
            let series = by_subject
                .entry(row.subject)
                .or_insert_with(|| vec![Traffic::default(); slots]);
            if is_shown && let Some(slot) = series.get_mut(index as usize) {
                slot.add(&row.traffic);
            }
        }
        Self { slots, by_subject }
    }

    /// All sources, and all destinations.
    fn total(&self) -> (Traffic, Traffic) {
        let mut total = (Traffic::default(), Traffic::default());
        for (subject, series) in &self.by_subject {
            let sum = match subject {
                Subject::Source(_) => &mut total.0,
                Subject::Destination(_) => &mut total.1,
            };
            series.iter().for_each(|slot| sum.add(slot));
        }
        total
    }

    fn series(&self, subject: &Subject) -> Vec<Traffic> {
        let found = self.by_subject.get(subject).cloned();
        found.unwrap_or_else(|| vec![Traffic::default(); self.slots])
    }

    fn source(&self, name: String) -> SourceTrafficView {
        let series = self.series(&Subject::Source(name.as_str().into()));
        let sum = sum(&series);
        let totals = ArrivalsView::from(&sum);
        SourceTrafficView {
            source: name,
            totals,
            dedupe_ratio: totals.dedupe_ratio(),
            ack: (&sum.took).into(),
            gap_ms_max: sum.gap_ms_max,
            series: series.iter().map(ArrivalsView::from).collect(),
        }
    }

    fn destination(&self, place: &DestinationView, counts: &Counts) -> DestinationTrafficView {
        let id = DestinationId::from(place.id.as_str());
        let series = self.series(&Subject::Destination(id.clone()));
        let sum = sum(&series);
        let mine = || counts.backlog.iter().filter(|backlog| backlog.destination == id);
        let unfinished = || mine().filter(|backlog| backlog.state.is_unfinished());
        let dead = mine().filter(|backlog| backlog.state == DeliveryState::Dead);
        DestinationTrafficView {
            destination: place.name.clone(),
            destination_id: place.id.clone(),
            totals: (&sum).into(),
            handler: (&sum.took).into(),
            backlog: unfinished().map(|backlog| backlog.count).sum(),
            oldest_unfinished_at: unfinished().filter_map(|backlog: &Backlog| backlog.oldest).min(),
            dead: dead.map(|backlog| backlog.count).sum(),
            series: series.iter().map(AttemptsView::from).collect(),
        }
    }
}

fn sum(series: &[Traffic]) -> Traffic {
    let mut sum = Traffic::default();
    series.iter().for_each(|slot| sum.add(slot));
    sum
}

#[cfg(test)]
mod tests {
    use hapax_core::Owner;

    use super::*;

    fn row(owner: u64, slot: Timestamp, accepted: u64) -> TrafficRow {
        TrafficRow {
            span: Span::Hour,
            slot,
            subject: Subject::Source("stripe".into()),
            owner: Owner(owner),
            traffic: Traffic {
                accepted,
                ..Traffic::default()
            },
        }
    }

    #[test]
    fn rows_of_several_processes_add_up_in_their_slots_and_old_ones_are_left_out() {
        let now = Timestamp::from_seconds(1_767_229_261);
        let (newest, oldest) = (Span::Hour.slot_of(now), Span::Hour.oldest(now));
        let too_old = oldest.minus(Span::Hour.step());
        let too_new = newest.plus(Span::Hour.step());
        let rows = vec![
            row(1, newest, 2),
            row(2, newest, 3),
            row(1, oldest, 7),
            row(1, too_old, 100),
            row(1, too_new, 100),
        ];
        let view = Sums::of(rows, Span::Hour, now).source("stripe".to_owned());
        assert_eq!(view.totals.accepted, 12);
        assert_eq!(view.series.len(), 60);
        assert_eq!((view.series[0].accepted, view.series[59].accepted), (7, 5));
    }
}
