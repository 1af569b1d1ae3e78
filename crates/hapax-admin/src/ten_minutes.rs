//! The last ten minutes of this process, for the API and the pages.

use std::time::Duration;

use hapax_core::{DestinationId, SourceName};

use super::state::{AdminState, Settings};
use hapax_api::views::{DestinationTenMinutesView, PercentilesView, SourceTenMinutesView, TenMinutesView};
use hapax_telemetry::{Figures, Percentiles};

/// The figures as of now.
pub fn now(state: &AdminState) -> TenMinutesView {
    let (recent, settings) = (state.meter.last_ten_minutes(), state.settings.load());
    TenMinutesView {
        watched_seconds: recent.watched_for.as_secs(),
        sources: recent
            .sources
            .iter()
            .filter(|(name, _)| state.visible.sees(name.as_str()))
            .map(|(name, figures)| source(name, figures))
            .collect(),
        destinations: recent
            .destinations
            .iter()
            .filter(|(id, _)| state.visible.is_all() || settings.by_id(id).is_some())
            .map(|(id, figures)| destination(&settings, id, figures))
            .collect(),
        store_write: percentiles(recent.store_write),
    }
}

fn source(name: &SourceName, figures: &Figures) -> SourceTenMinutesView {
    SourceTenMinutesView {
        source: name.to_string(),
        events: figures.accepted + figures.duplicates + figures.conflicts,
        accepted: figures.accepted,
        duplicates: figures.duplicates,
        conflicts: figures.conflicts,
        unproven: figures.unproven,
        dedupe_ratio: figures.dedupe_ratio,
        dedupe_ratio_p95: figures.dedupe_ratio_p95,
        ack: percentiles(figures.took),
    }
}

fn destination(settings: &Settings, id: &DestinationId, figures: &Figures) -> DestinationTenMinutesView {
    let named = settings.destinations.iter().find(|one| one.id == *id);
    DestinationTenMinutesView {
        destination: named.map_or_else(|| id.to_string(), |one| one.name.clone()),
        destination_id: id.to_string(),
        completed: figures.completed,
        failed: figures.failed,
        dead: figures.dead,
        took: percentiles(figures.took),
    }
}

fn percentiles(found: Percentiles) -> PercentilesView {
    let millis = |took: Duration| took.as_secs_f64() * 1_000.0;
    PercentilesView {
        count: found.count,
        p50_ms: found.p50.map(millis),
        p95_ms: found.p95.map(millis),
        p99_ms: found.p99.map(millis),
    }
}
