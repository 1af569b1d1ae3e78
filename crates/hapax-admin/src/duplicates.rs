//! `GET stats/duplicates`: which sources send duplicates, how late, and whether their ids are reliable.
//!
//! Counts come from the traffic of all processes. Figures of single ids come from the ledger, so that they are exact.

mod advice;
mod gaps;
mod top;

use std::collections::BTreeMap;

use axum::Json;
use hapax_core::Timestamp;
use hapax_core::store::{Subject, TimeRange, Traffic, TrafficRow};
use serde::Deserialize;
use utoipa::IntoParams;

use super::admission::Narrowed;
use super::api_error::ApiResult;
use super::extract::QueryParams;
use super::state::{AdminState, Settings};
use super::traffic::{percentiles, rows, slots};
use hapax_api::problem::Code;
use hapax_api::views::{DuplicateStatsView, SourceDuplicatesView};
use top::Top;

/// The limitations of these figures.
const NOTE: &str = "Each process writes its counts every ten seconds. If a process crashes, its most recent counts are lost.";

/// The range and source of the report.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DuplicateParameters {
    /// The time range [default: the last week].
    #[param(schema_with = hapax_api::schemas::span)]
    range: Option<TimeRange>,
    /// Only this source.
    source: Option<String>,
}

/// Reports how often and how late each source sends duplicates, and whether the ledger window is long enough.
///
/// Includes the ids with the most duplicates, sources with unstable ids, and ids that are reused for other events.
#[utoipa::path(get, path = "/stats/duplicates", operation_id = "getDuplicateStats", tag = "stats",
    params(DuplicateParameters),
    responses((status = 200, description = "The duplicates of each source.", body = DuplicateStatsView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::UnknownSource])))
)]
pub(super) async fn show(
    Narrowed(state): Narrowed,
    QueryParams(asked): QueryParams<DuplicateParameters>,
) -> ApiResult<Json<DuplicateStatsView>> {
    let span = asked.range.unwrap_or(TimeRange::Week);
    over(&state, span, asked.source.as_deref()).await.map(Json)
}

/// The duplicates of a range, of one source or of all.
pub async fn over(
    state: &AdminState,
    span: TimeRange,
    source: Option<&str>,
) -> ApiResult<DuplicateStatsView> {
    let rows = rows(state, span).await?;
    let now = state.meter.now();
    let settings = state.settings.load_full();
    let mut books = books(&settings, span, now, rows);
    if let Some(name) = source {
        if !books.contains_key(name) {
            settings.source(name)?;
        }
        books.retain(|of, _| of == name);
    }
    let mut look_ups = top::LookUps::default();
    let mut sources = Vec::with_capacity(books.len());
    for (name, book) in books {
        let redelivered = look_ups
            .exact(state, &settings, &name, book.top.largest())
            .await?;
        sources.push(SourceDuplicatesView {
            redelivered,
            ..book.view(&settings, name, span)
        });
    }
    sources.sort_by(|one, other| share(other).total_cmp(&share(one)));
    Ok(DuplicateStatsView {
        range: span,
        since: span.oldest(now),
        note: NOTE.to_owned(),
        sources,
    })
}

fn share(source: &SourceDuplicatesView) -> f64 {
    source.dedupe_ratio.unwrap_or(-1.0)
}

/// The counts of one source.
struct Book {
    slots: Vec<Traffic>,
    top: Top,
}

/// The counts of each source that is configured or has rows.
fn books(
    settings: &Settings,
    span: TimeRange,
    now: Timestamp,
    rows: Vec<TrafficRow>,
) -> BTreeMap<String, Book> {
    let slots = slots(span, now);
    let empty = || Book {
        slots: vec![Traffic::default(); slots.len()],
        top: Top::default(),
    };
    let configured = settings
        .sources
        .iter()
        .map(|source| (source.name.clone(), empty()));
    let mut books: BTreeMap<String, Book> = configured.collect();
    for row in rows {
        let (Subject::Source(name), Ok(place)) = (row.subject, slots.binary_search(&row.slot)) else {
            continue;
        };
        let book = books.entry(name.to_string()).or_insert_with(empty);
        book.top.add(&row.traffic.redelivered);
        if let Some(slot) = book.slots.get_mut(place) {
            slot.add(&row.traffic);
        }
    }
    books
}

impl Book {
    fn view(&self, settings: &Settings, source: String, span: TimeRange) -> SourceDuplicatesView {
        let mut total = Traffic::default();
        for slot in &self.slots {
            total.add(slot);
        }
        let received = total.accepted + total.duplicates + total.conflicts;
        let configured = settings.sources.iter().find(|one| one.name == source);
        let window = advice::window(&source, configured, &total, span);
        let each = |count: fn(&Traffic) -> u64| self.slots.iter().map(count).collect();
        SourceDuplicatesView {
            received,
            accepted: total.accepted,
            duplicates: total.duplicates,
            conflicts: total.conflicts,
            dedupe_ratio: (received > 0).then(|| total.duplicates as f64 / received as f64),
            gaps: gaps::classes(&total.gaps),
            gap: percentiles(&total.gaps),
            gap_ms_max: total.gap_ms_max,
            findings: advice::findings(&total, &window),
            window,
            redelivered: Vec::new(),
            same_bodies: total.same_bodies,
            accepted_series: each(|slot| slot.accepted),
            duplicates_series: each(|slot| slot.duplicates),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use hapax_core::Owner;

    use super::*;
    use hapax_config::{self as config, Environment};

    fn row(slot: Timestamp, owner: u64, event_id: &str) -> TrafficRow {
        let mut traffic = Traffic {
            accepted: 1,
            duplicates: 2,
            ..Traffic::default()
        };
        for gap in [Duration::from_millis(400), Duration::from_secs(7_200)] {
            traffic.gaps.count(gap);
            traffic.redelivered.count(event_id);
        }
        TrafficRow {
            range: TimeRange::Week,
            slot,
            subject: Subject::Source("stripe".into()),
            owner: Owner(owner),
            traffic,
        }
    }

    #[test]
    fn rows_of_all_processes_and_slots_add_up() {
        let config = config::parse("", Path::new("hapax.toml"), &Environment::with([]), &[]).unwrap();
        let settings = Settings::from(&config);
        let now = Timestamp::from_seconds(1_767_225_600);
        let here = TimeRange::Week.slot_of(now);
        let gone = TimeRange::Week.oldest(now).minus(TimeRange::Week.step());
        let rows = vec![
            row(here, 1, "a"),
            row(here, 2, "a"),
            row(TimeRange::Week.oldest(now), 1, "b"),
            row(gone, 1, "c"),
        ];
        let books = books(&settings, TimeRange::Week, now, rows);
        let book = &books["stripe"];
        let view = book.view(&settings, "stripe".to_owned(), TimeRange::Week);
        assert_eq!((view.accepted, view.duplicates, view.received), (3, 6, 9));
        let some: Vec<_> = view.gaps.iter().filter(|class| class.duplicates > 0).collect();
        assert_eq!(
            some.iter().map(|class| class.duplicates).collect::<Vec<_>>(),
            [3, 3]
        );
        assert_eq!(book.top.largest(), [("a".to_owned(), 4), ("b".to_owned(), 2)]);
        assert_eq!((view.duplicates_series[0], view.duplicates_series[167]), (2, 4));
    }
}
