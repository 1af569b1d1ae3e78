//! `GET /destinations`, and the forms to pause and resume one.

use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::Timestamp;
use hapax_core::store::TimeRange;
use maud::{Markup, html};

use super::done::Done;
use super::frame::{self, Here};
use super::moment::moment;
use super::overview::state_badge;
use super::percentiles::percentiles;
use super::viewer::{Acting, Viewer};
use super::written::written;
use super::{form::form, link, ten_minutes};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::PathParams;
use hapax_admin::{self as admin, destinations, overview};
use hapax_api::readable;
use hapax_api::views::{DestinationStatsView, DestinationTrafficView, DestinationView, TenMinutesView};

const PATH: &str = "/destinations";

pub(super) async fn page(Narrowed(state): Narrowed, viewer: Viewer) -> ApiResult<Response> {
    let store = state.engine.store();
    let (counts, pauses) = (state.counts.read(store).await?, store.pauses().await?);
    let configured = destinations::all(&state, &counts, &pauses);
    let view = overview::over(&state, TimeRange::Day).await?;
    let (recent, now) = (admin::ten_minutes::now(&state), state.now());
    let work_of = |id: &str| view.destinations.iter().find(|one| one.destination_id == id);
    let traffic_of = |id: &str| {
        view.traffic
            .destinations
            .iter()
            .find(|one| one.destination_id == id)
    };
    let settings = state.settings.load();
    let content = html! {
        @if configured.is_empty() {
            p class="card empty" { "No destination is configured: events are stored and not delivered." }
        }
        div class="stack" {
            @for place in &configured {
                section class="card stack" id={ "destination-" (place.name) } {
                    (card(place, work_of(&place.id), &recent, traffic_of(&place.id), now))
                    (written(&settings, &format!("destinations.{}", place.name)))
                    (switch(&viewer, place, now))
                }
            }
        }
    };
    Ok(frame::page(&viewer, Here::Destinations, "Destinations", content))
}

pub(super) async fn pause(
    Narrowed(state): Narrowed,
    PathParams(name): PathParams<String>,
    Acting(viewer, fields): Acting,
) -> ApiResult<Response> {
    let why = fields.filled("why").unwrap_or_default().to_owned();
    destinations::paused(&state, &name, &viewer.caller.actor, why).await?;
    Ok(Redirect::to(&link::done(PATH, Done::Paused)).into_response())
}

pub(super) async fn resume(
    Narrowed(state): Narrowed,
    PathParams(name): PathParams<String>,
    Acting(viewer, _): Acting,
) -> ApiResult<Response> {
    destinations::resumed(&state, &name, &viewer.caller.actor).await?;
    Ok(Redirect::to(&link::done(PATH, Done::Resumed)).into_response())
}

fn card(
    place: &DestinationView,
    work: Option<&DestinationStatsView>,
    recent: &TenMinutesView,
    traffic: Option<&DestinationTrafficView>,
    now: Timestamp,
) -> Markup {
    html! {
        div class="row spread" {
            h2 { (place.name) }
            @if let Some(work) = work { (state_badge(work)) }
        }
        dl class="kv" {
            @if place.id != place.name { dt { "Id" } dd { code { (place.id) } } }
            dt { "Kind" } dd { (place.kind.as_deref().unwrap_or("no longer configured; its deliveries are held")) }
            @if let Some(target) = &place.target { dt { "Target" } dd { code { (target) } } }
            dt { "Running" } dd { (readable::count(place.running.into())) " of at most " (readable::count(place.concurrency.into())) " in this process" }
            @if let Some(open_ms) = place.breaker_open_ms {
                dt { "Breaker" } dd { "open for another " (open_ms.div_ceil(1_000)) " s; then one delivery tests it" }
            }
            @if let Some(work) = work { (backlog(work, now)) }
            (ten_minutes::of_destination(recent, &place.id))
            @if let Some(traffic) = traffic {
                dt { "Last 24 h" }
                dd { (readable::count(traffic.completed)) " completed, " (readable::count(traffic.failed)) " failed, " (readable::count(traffic.dead)) " dead; took " (percentiles(traffic.took)) " (p50 / p95 / p99)" }
            }
        }
    }
}

fn backlog(work: &DestinationStatsView, now: Timestamp) -> Markup {
    html! {
        dt { "Backlog" }
        dd {
            (readable::count(work.pending)) " pending, " (readable::count(work.retrying)) " retrying, "
            (readable::count(work.held)) " held"
            @if let Some(at) = work.oldest_unfinished_at { ", the oldest accepted " (moment(at, now)) }
        }
        dt { "Dead letters" }
        dd { @if work.dead > 0 { a href="/dead" { (readable::count(work.dead)) } } @else { "none" } }
    }
}

fn switch(viewer: &Viewer, place: &DestinationView, now: Timestamp) -> Markup {
    match &place.paused {
        Some(pause) => html! {
            p class="notice warn" {
                "Paused by " (pause.by) " " (moment(pause.at, now)) ": "
                @if pause.why.is_empty() { "no reason given." } @else { (pause.why) }
            }
            (form(viewer, &link::under("destinations", &place.name, "resume"), html! {
                button class="button primary" type="submit" { "Resume " (place.name) }
            }))
        },
        None if place.configured => {
            let field = format!("why-{}", place.id);
            form(
                viewer,
                &link::under("destinations", &place.name, "pause"),
                html! {
                    div class="row" {
                        label for=(field) { "Reason" }
                        input class="short" id=(field) name="why" maxlength="1024" placeholder="a deploy";
                        button class="button" type="submit" { "Pause " (place.name) }
                    }
                },
            )
        }
        None => html! {},
    }
}
