//! The overview: the figures of a time range, the deliveries of each destination, and what needs attention.

mod attention;

use axum::Json;
use hapax_core::store::{Subject, TimeRange, Traffic, TrafficRow};
use serde::Deserialize;
use utoipa::IntoParams;

use super::admission::Narrowed;
use super::api_error::ApiResult;
use super::extract::QueryParams;
use super::state::AdminState;
use super::{destinations, stats, traffic};
use hapax_api::problem::Code;
use hapax_api::views::{OutboxHealthView, OverviewView};
use hapax_delivery::outbox::{Health, full_name};

/// The time range.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OverviewParameters {
    /// The time range [default: the last day].
    #[param(schema_with = hapax_api::schemas::span)]
    range: Option<TimeRange>,
}

/// Shows the figures of a time range, and what needs attention, most urgent first.
#[utoipa::path(get, path = "/overview", operation_id = "getOverview", tag = "stats",
    params(OverviewParameters),
    responses((status = 200, description = "The overview.", body = OverviewView)),
    extensions(("x-problems" = json!([Code::InvalidParameter])))
)]
pub(super) async fn show(
    Narrowed(state): Narrowed,
    QueryParams(asked): QueryParams<OverviewParameters>,
) -> ApiResult<Json<OverviewView>> {
    over(&state, asked.range.unwrap_or(TimeRange::Day))
        .await
        .map(Json)
}

/// The overview of a range.
pub async fn over(state: &AdminState, span: TimeRange) -> ApiResult<OverviewView> {
    let now = state.now();
    let store = state.engine.store();
    let rows = traffic::rows(state, span).await?;
    let (counts, pauses) = (state.counts.read(store).await?, store.pauses().await?);
    let places: Vec<_> = destinations::all(state, &counts, &pauses)
        .into_iter()
        .map(|place| stats::destination(place, &counts))
        .collect();
    let (arrived, attempted) = totals(&rows);
    let traffic = traffic::sum(&state.settings.load(), span, now, rows);
    let genuine = arrived.accepted + arrived.duplicates + arrived.conflicts;
    let outboxes: Vec<_> = state
        .outboxes
        .iter()
        .flat_map(|all| all.health())
        .filter(|health| state.visible.sees(&full_name(&health.name)))
        .map(outbox)
        .collect();
    Ok(OverviewView {
        attention: attention::of(state, &traffic, &places, &outboxes, now),
        received: genuine + arrived.rejected,
        accepted: arrived.accepted,
        duplicates: arrived.duplicates,
        conflicts: arrived.conflicts,
        rejected: arrived.rejected,
        dedupe_ratio: (genuine > 0).then(|| arrived.duplicates as f64 / genuine as f64),
        ack: traffic::percentiles(&arrived.took),
        handler: traffic::percentiles(&attempted.took),
        destinations: places,
        outboxes,
        traffic,
    })
}

fn outbox(health: Health) -> OutboxHealthView {
    let counts = health.counts.as_ref();
    OutboxHealthView {
        waiting: counts.map(|counts| counts.pending + counts.leased),
        refused: counts.map(|counts| counts.refused),
        relayed: counts.map(|counts| counts.relayed),
        oldest_at: counts.and_then(|counts| counts.oldest_at),
        problem: health.trouble.map(|(problem, _)| problem),
        outbox: health.name,
    }
}

/// The totals of all sources, and of all destinations.
fn totals(rows: &[TrafficRow]) -> (Traffic, Traffic) {
    let mut totals = (Traffic::default(), Traffic::default());
    for row in rows {
        match row.subject {
            Subject::Source(_) => totals.0.add(&row.traffic),
            Subject::Destination(_) => totals.1.add(&row.traffic),
        }
    }
    totals
}
