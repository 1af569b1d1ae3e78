//! `GET /`: what needs attention, the figures of a time range, and a chart for each source.

use axum::response::Response;
use hapax_core::store::{EventQuery, TimeRange};
use hapax_core::{SourceName, Timestamp};
use maud::{Markup, html};

use super::chart::{self, Layer};
use super::frame::{self, Here};
use super::link;
use super::moment::moment;
use super::percentiles::percentiles;
use super::prose::prose;
use super::ranges;
use super::status::{Tone, badge};
use super::ten_minutes;
use super::viewer::Viewer;
use hapax_admin as admin;
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::QueryParams;
use hapax_admin::overview;
use hapax_api::readable;
use hapax_api::views::{
    AttentionKind, AttentionView, DestinationStatsView, OverviewView, PercentilesView, SourceTrafficView,
    TrafficView,
};

const KINDS: [&str; 4] = ["accepted", "duplicates", "conflicts", "rejected"];

pub(super) async fn page(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    QueryParams(asked): QueryParams<ranges::Parameters>,
) -> ApiResult<Response> {
    let span = asked.range.unwrap_or(TimeRange::Hour);
    let view = overview::over(&state, span).await?;
    let (recent, now) = (admin::ten_minutes::now(&state), state.now());
    let content = html! {
        (attention(&view.attention, now))
        (ranges::tabs("/", span))
        (figures(&view))
        h2 { "Sources" }
        (chart::legend(&KINDS))
        @if view.traffic.sources.is_empty() {
            p class="card empty" { "No source is configured. `hapax init` creates an initial configuration." }
        }
        div class="grid" { @for source in &view.traffic.sources { (source_card(source, &view.traffic)) } }
        h2 { "Destinations" }
        (destinations(&view, now))
        (ten_minutes::section(&recent))
        p class="muted small" { "In a large store, backlogs and dead letters may be slightly out of date." }
    };
    Ok(frame::page(&viewer, Here::Overview, "Overview", content))
}

fn attention(found: &[AttentionView], now: Timestamp) -> Markup {
    html! {
        section aria-labelledby="attention" {
            h2 id="attention" { "Needs attention" }
            @if found.is_empty() {
                p class="card" { (badge(Tone::Good, "Nothing")) " No dead letters, open breakers, conflicts, late duplicates, refused requests or refused outbox rows." }
            } @else {
                ul class="attention" {
                    @for one in found {
                        li class="card" {
                            (badge(tone(one.kind), words(one.kind)))
                            p {
                                (prose(&one.sentence))
                                @if let Some(since) = one.firing_since { " " span class="muted small" { "Alert since " (moment(since, now)) "." } }
                            }
                            a class="button" href=(one.link) aria-label={ "View " (words(one.kind)) " of " (one.subject) } { "View" }
                        }
                    }
                }
            }
        }
    }
}

const fn tone(kind: AttentionKind) -> Tone {
    match kind {
        AttentionKind::Dead
        | AttentionKind::Breaker
        | AttentionKind::OutboxDown
        | AttentionKind::OutboxRefused
        | AttentionKind::OutboxWaiting
        | AttentionKind::Waiting
        | AttentionKind::Store => Tone::Bad,
        AttentionKind::Slow
        | AttentionKind::Duplicates
        | AttentionKind::Conflict
        | AttentionKind::Gap
        | AttentionKind::Refused => Tone::Warn,
        AttentionKind::Paused => Tone::Plain,
    }
}

const fn words(kind: AttentionKind) -> &'static str {
    match kind {
        AttentionKind::Dead => "dead letters",
        AttentionKind::Breaker => "breaker open",
        AttentionKind::OutboxDown => "outbox down",
        AttentionKind::OutboxRefused => "refused rows",
        AttentionKind::OutboxWaiting => "rows wait",
        AttentionKind::Waiting => "long wait",
        AttentionKind::Store => "slow store",
        AttentionKind::Slow => "slow attempts",
        AttentionKind::Duplicates => "many duplicates",
        AttentionKind::Conflict => "conflict",
        AttentionKind::Gap => "late duplicate",
        AttentionKind::Refused => "refused",
        AttentionKind::Paused => "paused",
    }
}

fn figures(view: &OverviewView) -> Markup {
    let share = view
        .dedupe_ratio
        .map_or_else(|| "–".to_owned(), |ratio| format!("{:.1}%", ratio * 100.0));
    html! {
        dl class="figures" {
            (figure("Received", &readable::count(view.received)))
            (figure("Accepted", &readable::count(view.accepted)))
            (figure("Duplicates", &readable::count(view.duplicates)))
            (figure("Dedupe rate", &share))
            (figure("Conflicts", &readable::count(view.conflicts)))
            (figure("Rejected", &readable::count(view.rejected)))
            (figure("Ack p50 / p95 / p99", &percentiles(view.ack)))
            (figure("Handler p50 / p95 / p99", &percentiles(view.handler)))
        }
    }
}

fn figure(name: &str, value: &str) -> Markup {
    html! { div class="card" { dt { (name) } dd { (value) } } }
}

fn source_card(source: &SourceTrafficView, traffic: &TrafficView) -> Markup {
    let name = source.source.as_str();
    let label = format!(
        "{name} over the last {}: {} accepted, {} duplicates, {} conflicts, {} rejected",
        traffic.range.as_str(),
        source.accepted,
        source.duplicates,
        source.conflicts,
        source.rejected
    );
    html! {
        section class="card stack" {
            h3 { a href=(events_of(name, None)) { (name) } }
            (chart::bars(&label, traffic.range.as_str(), &layers(source)))
            p class="small muted" {
                (readable::count(source.received)) " received, ack " (percentiles(source.ack))
                @if source.gap_ms_max > 0 { ", longest gap " (readable::duration(std::time::Duration::from_millis(source.gap_ms_max))) }
            }
            details {
                summary { "As a table" }
                (slots_table(source, traffic))
            }
        }
    }
}

fn layers(source: &SourceTrafficView) -> [Layer<'_>; 4] {
    let series = &source.series;
    let counts = [
        &series.accepted,
        &series.duplicates,
        &series.conflicts,
        &series.rejected,
    ];
    let mut kinds = KINDS.into_iter();
    counts.map(|counts| Layer {
        name: kinds.next().unwrap_or_default(),
        counts,
    })
}

fn slots_table(source: &SourceTrafficView, traffic: &TrafficView) -> Markup {
    let layers = layers(source);
    let counts = |slot: usize| {
        layers
            .each_ref()
            .map(|layer| layer.counts.get(slot).copied().unwrap_or(0))
    };
    let busy = traffic
        .slots
        .iter()
        .enumerate()
        .filter(|(slot, _)| counts(*slot).iter().any(|count| *count > 0));
    html! {
        div class="table" {
            table {
                caption { "Slots of " (traffic.step_seconds / 60) " min with arrivals" }
                thead { tr { th scope="col" { "From" } @for kind in KINDS { th scope="col" class="number" { (kind) } } } }
                tbody {
                    @for (slot, at) in busy {
                        tr {
                            th scope="row" { a href=(events_of(&source.source, Some((*at, traffic)))) { (at) } }
                            @for count in counts(slot) { td class="number" { (readable::count(count)) } }
                        }
                    }
                }
            }
        }
    }
}

fn events_of(source: &str, slot: Option<(Timestamp, &TrafficView)>) -> String {
    link::events(&EventQuery {
        source: Some(SourceName::from(source)),
        since: slot.map(|(at, _)| at),
        until: slot.map(|(at, traffic)| at.plus(traffic.range.step())),
        ..EventQuery::default()
    })
}

fn destinations(view: &OverviewView, now: Timestamp) -> Markup {
    let took = |id: &str| {
        let found = view
            .traffic
            .destinations
            .iter()
            .find(|one| one.destination_id == id);
        found.map_or((0, 0, PercentilesView::default()), |one| {
            (one.completed, one.failed + one.dead, one.took)
        })
    };
    html! {
        div class="table" {
            table {
                thead {
                    tr {
                        th scope="col" { "Destination" } th scope="col" { "State" }
                        th scope="col" class="number" { "Backlog" } th scope="col" { "Oldest" }
                        th scope="col" class="number" { "Dead" }
                        th scope="col" class="number" { "Completed" } th scope="col" class="number" { "Failed" }
                        th scope="col" class="number" { "p50 / p95 / p99" }
                    }
                }
                tbody {
                    @for place in &view.destinations {
                        @let (completed, failed, percentile) = took(&place.destination_id);
                        tr {
                            th scope="row" { a href="/destinations" { (place.destination) } }
                            td { (state_badge(place)) }
                            td class="number" { (readable::count(place.pending + place.running + place.retrying + place.held)) }
                            td { @match place.oldest_unfinished_at { Some(at) => (moment(at, now)), None => "–" } }
                            td class="number" { @if place.dead > 0 { a href="/dead" { (readable::count(place.dead)) } } @else { "0" } }
                            td class="number" { (readable::count(completed)) }
                            td class="number" { (readable::count(failed)) }
                            td class="number" { (percentiles(percentile)) }
                        }
                    }
                }
            }
        }
    }
}

/// The badge for a destination's state.
pub(super) fn state_badge(place: &DestinationStatsView) -> Markup {
    match (place.configured, &place.paused, place.breaker_open_ms) {
        (false, _, _) => badge(Tone::Warn, "not configured"),
        (true, Some(_), _) => badge(Tone::Plain, "paused"),
        (true, None, Some(_)) => badge(Tone::Bad, "breaker open"),
        (true, None, None) => badge(Tone::Good, "active"),
    }
}
