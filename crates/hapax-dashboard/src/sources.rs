//! `GET /sources`: the configuration and figures of each source, and its refused requests.

mod refusals;

use std::time::Duration;

use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::store::TimeRange;
use hapax_verify::{IdClass, OnConflict};
use maud::{Markup, html};

use super::done::Done;
use super::form::form;
use super::frame::{self, Here};
use super::percentiles::percentiles;
use super::prose::marked;
use super::viewer::{Acting, Viewer};
use super::written::written;
use super::{link, ten_minutes};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::PathParams;
use hapax_admin::{self as admin, facts, registrations, sources, traffic};
use hapax_api::readable;
use hapax_api::views::{RefusalView, SourceTrafficView, SourceView};
use hapax_telemetry::metrics::UNKNOWN_SOURCE;

const PATH: &str = "/sources";

pub(super) async fn page(Narrowed(state): Narrowed, viewer: Viewer) -> ApiResult<Response> {
    let view = traffic::over(&state, TimeRange::Day).await?;
    let (recent, now) = (admin::ten_minutes::now(&state), state.now());
    let traffic_of = |name: &str| view.sources.iter().find(|one| one.source == name);
    let all = sources::all(&state).sources;
    let settings = state.settings.load();
    let strangers: Vec<RefusalView> = state
        .meter
        .refusals(UNKNOWN_SOURCE)
        .into_iter()
        .filter(|_| state.visible.is_all())
        .map(facts::refusal)
        .collect();
    let content = html! {
        p { a href="/duplicates" { "Duplicates" } ": how often each provider sends duplicates, how late, and whether its ids can be trusted." }
        @if all.is_empty() {
            p class="card empty" { "No source is configured: every webhook is answered 404." }
        }
        div class="stack" {
            @for source in &all {
                section class="card stack" id={ "source-" (source.name) } {
                    (card(&viewer, source, traffic_of(&source.name)))
                    (ten_minutes::of_source(&recent, &source.name))
                    (written(&settings, &format!("sources.{}", source.name)))
                    (refusals::table(&source.refusals, now))
                }
            }
            @if !strangers.is_empty() {
                section class="card stack" {
                    h2 { "Unknown sources" }
                    p { "Requests arrive for a source that is not configured. Correct the URL at the provider, or add the source." }
                    (refusals::table(&strangers, now))
                }
            }
        }
    };
    Ok(frame::page(&viewer, Here::Sources, "Sources", content))
}

/// Opens a registration for a source.
pub(super) async fn register(
    Narrowed(state): Narrowed,
    PathParams(name): PathParams<String>,
    Acting(viewer, _): Acting,
) -> ApiResult<Response> {
    registrations::opened(&state, name, None, &viewer.caller.actor).await?;
    Ok(Redirect::to(&link::done(PATH, Done::RegistrationOpened)).into_response())
}

fn card(viewer: &Viewer, source: &SourceView, traffic: Option<&SourceTrafficView>) -> Markup {
    html! {
        h2 { a href=(link::search(&format!("source:{}", source.name))) { (source.name) } }
        (console(source))
        (configured(source))
        @if let Some(traffic) = traffic { (health(traffic)) }
        @if source.takes_registrations {
            (form(viewer, &link::under("sources", &source.name, "registration"), html! {
                p { "The provider sends its signing secret when the webhook is created. Open a registration, then create the webhook at the provider within ten minutes." }
                button class="button" type="submit" { "Open a registration" }
            }))
        }
    }
}

/// The URL for the provider's console.
fn console(source: &SourceView) -> Markup {
    match (&source.console_url, &source.scheme) {
        (Some(url), _) => html! {
            p { "Enter this URL at the provider:" }
            p { code class="console" data-copy { (url) } }
        },
        (None, Some(_)) => html! {
            p { "Enter the public URL of this service at the provider, followed by " code { "/in/" (source.name) } ". Set " code { "public_url" } " to show the complete URL here." }
        },
        (None, None) => {
            html! { p class="muted" { "An " a href="/outbox" { "outbox" } ": its rows become events." } }
        }
    }
}

fn configured(source: &SourceView) -> Markup {
    let window = |seconds| readable::duration(Duration::from_secs(seconds));
    html! {
        dl class="kv" {
            dt { "Preset" } dd { (source.provider.as_deref().unwrap_or("none; custom signature scheme")) }
            @if let Some(scheme) = &source.scheme { dt { "Verified by" } dd { (marked(scheme)) } }
            @if let Some(rule) = &source.event_id_rule { dt { "Event id" } dd { code { (rule) } ", unique in scope " code { (source.scope) } } }
            @if source.id_class.as_deref() == Some(IdClass::NotDeduplicated.as_str()) {
                dt { "Duplicates" } dd { "not detected: the provider assigns no unique id" }
            }
            @if source.on_conflict.as_deref() == Some(OnConflict::Accept.as_str()) {
                dt { "Conflicts" } dd { "accepted: a different body under a known id is a separate event" }
            }
            dt { "Secrets" } dd { (source.secrets) " configured, never shown" }
            dt { "Delivers to" }
            dd { @if source.deliver_to.is_empty() { "nothing; its events are stored" } @else { (source.deliver_to.join(", ")) } }
            dt { "Remembers ids for" } dd { (window(source.ledger_window_seconds)) }
            dt { "Keeps payloads for" } dd { (window(source.payload_retention_seconds)) ", of dead letters for " (window(source.dead_retention_seconds)) }
        }
    }
}

fn health(traffic: &SourceTrafficView) -> Markup {
    html! {
        p {
            b { "Last 24 h: " }
            (readable::count(traffic.accepted)) " accepted, " (readable::count(traffic.duplicates)) " duplicates, "
            (readable::count(traffic.conflicts)) " conflicts, " (readable::count(traffic.rejected)) " rejected; ack "
            (percentiles(traffic.ack)) " (p50 / p95 / p99)"
        }
    }
}
