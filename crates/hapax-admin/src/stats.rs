//! `GET stats`: counters and totals.

use axum::Json;
use hapax_core::store::{Backlog, Counts, TimeRange};
use hapax_core::{DeliveryState, Timestamp};
use hapax_seal::{Counted, Sealed};
use serde::Deserialize;
use utoipa::IntoParams;

use super::admission::Narrowed;
use super::api_error::ApiResult;
use super::destinations;
use super::extract::QueryParams;
use super::state::{AdminState, Settings};
use super::{ten_minutes, traffic};
use hapax_api::problem::Code;
use hapax_api::views::{
    DestinationStatsView, DestinationView, EncryptionView, SourceStatsView, StatsView, StoreView,
};
use hapax_telemetry::SourceCounts;

/// The time range of the traffic.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StatsParameters {
    /// Adds the traffic of this time range.
    #[param(schema_with = hapax_api::schemas::span)]
    range: Option<TimeRange>,
}

/// Shows statistics: requests by source, deliveries by destination, and the store.
#[utoipa::path(get, path = "/stats", operation_id = "getStats", tag = "stats",
    params(StatsParameters),
    responses((status = 200, description = "The statistics.", body = StatsView)),
    extensions(("x-problems" = json!([Code::InvalidParameter])))
)]
pub(super) async fn show(
    Narrowed(state): Narrowed,
    QueryParams(asked): QueryParams<StatsParameters>,
) -> ApiResult<Json<StatsView>> {
    now(&state, asked.range).await.map(Json)
}

/// The statistics, with the traffic of a range if requested.
pub(crate) async fn now(state: &AdminState, over: Option<TimeRange>) -> ApiResult<StatsView> {
    let store = state.engine.store();
    let (counts, pauses) = (state.counts.read(store).await?, store.pauses().await?);
    let places = destinations::all(state, &counts, &pauses);
    let now = state.now();
    let traffic = match over {
        Some(span) => Some(traffic::over(state, span).await?),
        None => None,
    };
    let mut arrivals = state.meter.arrivals();
    arrivals.retain(|one| state.visible.sees(&one.source));
    // These figures are not kept by source.
    let (store, retention) = if state.visible.is_all() {
        (Some(held(state, &counts).await), Some(state.meter.purged()))
    } else {
        (None, None)
    };
    Ok(StatsView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: state.started_at,
        uptime_seconds: now.since(state.started_at).as_secs(),
        sources: sources(&state.settings.load(), arrivals, &counts),
        destinations: places
            .into_iter()
            .map(|place| destination(place, &counts))
            .collect(),
        store,
        retention,
        ten_minutes: ten_minutes::now(state),
        traffic,
    })
}

async fn held(state: &AdminState, counts: &Counts) -> StoreView {
    StoreView {
        events: counts.events,
        ledger_entries: counts.ledger.iter().map(|count| count.entries).sum(),
        bytes: counts.store_bytes,
        encryption: encryption(state).await,
    }
}

/// The state of the store's encryption keys.
async fn encryption(state: &AdminState) -> Option<EncryptionView> {
    let store = state.encryption.as_ref()?;
    let counted = store.counted().await.ok().flatten();
    Some(encryption_view(store, counted))
}

/// The state of a store's encryption keys, with the values counted by key.
pub fn encryption_view(store: &Sealed, counted: Option<Counted>) -> EncryptionView {
    let rows = store.rows();
    EncryptionView {
        first: store.writes_with().to_string(),
        needed: rows.keys.iter().map(ToString::to_string).collect(),
        plain: rows.plain,
        counted_at: counted.as_ref().map(|counted| Timestamp::from_micros(counted.at)),
        values: counted.map(|counted| counted.values),
    }
}

/// All configured sources, and others that sent requests.
fn sources(settings: &Settings, arrivals: Vec<SourceCounts>, counts: &Counts) -> Vec<SourceStatsView> {
    let quiet = settings
        .sources
        .iter()
        .filter(|source| !arrivals.iter().any(|one| one.source == source.name));
    let quiet: Vec<_> = quiet
        .map(|source| SourceCounts {
            source: source.name.clone(),
            ..SourceCounts::default()
        })
        .collect();
    let mut views: Vec<_> = arrivals
        .into_iter()
        .chain(quiet)
        .map(|arrivals| source(settings, arrivals, counts))
        .collect();
    views.sort_by(|one, other| one.source.cmp(&other.source));
    views
}

fn source(settings: &Settings, arrivals: SourceCounts, counts: &Counts) -> SourceStatsView {
    let scope = settings
        .sources
        .iter()
        .find(|source| source.name == arrivals.source)
        .map(|source| &source.scope);
    let entries = counts
        .ledger
        .iter()
        .find(|count| Some(count.scope.as_str()) == scope.map(String::as_str));
    let genuine = arrivals.accepted + arrivals.duplicates + arrivals.conflicts;
    SourceStatsView {
        received: genuine + arrivals.rejected,
        accepted: arrivals.accepted,
        duplicates: arrivals.duplicates,
        conflicts: arrivals.conflicts,
        rejected: arrivals.rejected,
        dedupe_ratio: (genuine > 0).then(|| arrivals.duplicates as f64 / genuine as f64),
        ledger_entries: entries.map_or(0, |count| count.entries),
        source: arrivals.source,
    }
}

pub(super) fn destination(place: DestinationView, counts: &Counts) -> DestinationStatsView {
    let mine: Vec<&Backlog> = counts
        .backlog
        .iter()
        .filter(|backlog| backlog.destination.as_str() == place.id)
        .collect();
    let count = |state| {
        mine.iter()
            .filter(|backlog| backlog.state == state)
            .map(|backlog| backlog.count)
            .sum()
    };
    let (pending, retrying): (u64, u64) = (count(DeliveryState::Pending), count(DeliveryState::Retrying));
    let is_closed = !place.configured || place.paused.is_some();
    let unfinished = mine.iter().filter(|backlog| backlog.state.is_unfinished());
    DestinationStatsView {
        pending: if is_closed { 0 } else { pending },
        retrying: if is_closed { 0 } else { retrying },
        held: if is_closed { pending + retrying } else { 0 },
        running: count(DeliveryState::Running),
        dead: count(DeliveryState::Dead),
        oldest_unfinished_at: unfinished.filter_map(|backlog| backlog.oldest).min(),
        destination: place.name,
        destination_id: place.id,
        configured: place.configured,
        paused: place.paused,
        breaker_open_ms: place.breaker_open_ms,
    }
}
