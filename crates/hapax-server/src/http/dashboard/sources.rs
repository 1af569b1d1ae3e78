//! `GET /sources`: how each source is configured and doing, what it refused, and the outboxes.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::store::Span;
use hapax_core::{Clock as _, SystemClock, Timestamp};
use maud::{Markup, html};

use super::done::Done;
use super::form::form;
use super::frame::{self, Here};
use super::moment::{moment, span};
use super::prose::{marked, prose};
use super::viewer::{Changing, Viewer};
use super::{link, number, overview};
use crate::http::admin::extract::Named;
use crate::http::admin::fault::Answer;
use crate::http::admin::views::{OutboxView, RefusalView, SourceTrafficView, SourceView};
use crate::http::admin::{AdminState, outbox, registrations, sources, traffic};

const PATH: &str = "/sources";

pub(super) async fn page(State(state): State<AdminState>, viewer: Viewer) -> Answer<Response> {
    let view = traffic::over(&state, Span::Day).await?;
    let now = SystemClock::default().now();
    let traffic_of = |name: &str| view.sources.iter().find(|one| one.source == name);
    let all = sources::all(&state).sources;
    let outboxes = outbox::all(&state).await.outboxes;
    let content = html! {
        @if all.is_empty() {
            p class="card empty" { "No source is configured: every webhook is answered 404." }
        }
        div class="stack" {
            @for source in &all { (card(&viewer, source, traffic_of(&source.name), now)) }
        }
        @if !outboxes.is_empty() {
            h2 { "Outboxes" }
            div class="stack" { @for outbox in &outboxes { (outbox_card(&viewer, outbox, now)) } }
        }
    };
    Ok(frame::page(&viewer, Here::Sources, "Sources", content))
}

/// Lets the sender of a source hand its secret over, for a while.
pub(super) async fn register(
    State(state): State<AdminState>,
    Named(name): Named<String>,
    Changing(viewer, _): Changing,
) -> Answer<Response> {
    registrations::opened(&state, name, None, viewer.who).await?;
    Ok(Redirect::to(&link::done(PATH, Done::RegistrationOpened)).into_response())
}

/// Tries a refused row of an outbox again.
pub(super) async fn retry(
    State(state): State<AdminState>,
    Named((name, id)): Named<(String, i64)>,
    Changing(viewer, _): Changing,
) -> Answer<Response> {
    outbox::retried(&state, name, id, viewer.who).await?;
    Ok(Redirect::to(&link::done(PATH, Done::OutboxRetried)).into_response())
}

fn card(viewer: &Viewer, source: &SourceView, traffic: Option<&SourceTrafficView>, now: Timestamp) -> Markup {
    html! {
        section class="card stack" id={ "source-" (source.name) } {
            h2 { a href=(link::search(&format!("source:{}", source.name))) { (source.name) } }
            (console(source))
            (configured(source))
            @if let Some(traffic) = traffic { (health(traffic)) }
            @if source.takes_registrations {
                (form(viewer, &link::under("sources", &source.name, "registration"), html! {
                    p { "Its sender hands over the secret that it signs with. Open a registration, then create the webhook at the sender within ten minutes." }
                    button class="button" type="submit" { "Open a registration" }
                }))
            }
            (refusals(&source.refusals, now))
        }
    }
}

/// The line for the provider's console.
fn console(source: &SourceView) -> Markup {
    match (&source.console_url, &source.scheme) {
        (Some(url), _) => html! {
            p { "Enter this at the sender:" }
            p { code class="console" data-copy { (url) } }
        },
        (None, Some(_)) => html! {
            p { "Enter the public address of this service at the sender, followed by " code { "/in/" (source.name) } ". Set " code { "server.public_url" } " and the whole line is shown here." }
        },
        (None, None) => html! { p class="muted" { "An outbox: its rows become events." } },
    }
}

fn configured(source: &SourceView) -> Markup {
    let window = |seconds| span(Duration::from_secs(seconds));
    html! {
        dl class="kv" {
            dt { "Preset" } dd { (source.provider.as_deref().unwrap_or("none; it says itself how it signs")) }
            @if let Some(scheme) = &source.scheme { dt { "Verified by" } dd { (marked(scheme)) } }
            @if let Some(rule) = &source.event_id_rule { dt { "Event id" } dd { code { (rule) } ", unique in scope " code { (source.scope) } } }
            dt { "Secrets" } dd { (source.secrets) " configured, never shown" }
            dt { "Delivers to" }
            dd { @if source.deliver_to.is_empty() { "nothing; its events are kept" } @else { (source.deliver_to.join(", ")) } }
            dt { "Remembers ids for" } dd { (window(source.ledger_window_seconds)) }
            dt { "Keeps payloads for" } dd { (window(source.payload_retention_seconds)) ", of dead letters for " (window(source.dead_retention_seconds)) }
        }
    }
}

fn health(traffic: &SourceTrafficView) -> Markup {
    html! {
        p {
            b { "Last 24 h: " }
            (number::count(traffic.accepted)) " accepted, " (number::count(traffic.duplicates)) " duplicates, "
            (number::count(traffic.conflicts)) " conflicts, " (number::count(traffic.rejected)) " rejected; ack "
            (overview::percentiles(traffic.ack)) " (p50 / p95 / p99)"
        }
    }
}

fn refusals(refusals: &[RefusalView], now: Timestamp) -> Markup {
    if refusals.is_empty() {
        return html! { p class="muted" { "This process has refused none of its requests." } };
    }
    html! {
        details open {
            summary { "The last " (refusals.len()) " refused requests" }
            div class="table" {
                table {
                    thead {
                        tr { th scope="col" { "When" } th scope="col" { "Code" } th scope="col" { "What was wrong" } th scope="col" { "Likely mistake" } }
                    }
                    tbody {
                        @for refusal in refusals {
                            tr {
                                td class="when" { (moment(refusal.at, now)) }
                                td { code { (refusal.code) } " " span class="muted" { (refusal.status) } }
                                td class="wrap" { (prose(&refusal.detail)) }
                                td class="wrap" { @match &refusal.likely { Some(likely) => (prose(likely)), None => "–" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn outbox_card(viewer: &Viewer, outbox: &OutboxView, now: Timestamp) -> Markup {
    html! {
        section class="card stack" {
            h3 { (outbox.name) }
            @if let Some(problem) = &outbox.problem { p class="notice bad" { "Its table cannot be read: " (problem) } }
            dl class="kv" {
                dt { "Table" } dd { code { (outbox.url) } }
                dt { "Rows" }
                dd {
                    (number::count(outbox.pending)) " wait, " (number::count(outbox.leased)) " are relayed now, "
                    (number::count(outbox.relayed)) " became events, " (number::count(outbox.refused)) " refused"
                    @if let Some(at) = outbox.oldest_at { "; the oldest was written " (moment(at, now)) }
                }
            }
            @for row in &outbox.refused_rows {
                (form(viewer, &format!("{}/{}/retry", link::under("outbox", &outbox.name, "rows"), row.id), html! {
                    p class="wrap" { "Row " (row.id) " (" code { (row.idempotency_key) } "): " (row.error) }
                    button class="button" type="submit" { "Try row " (row.id) " again" }
                }))
            }
        }
    }
}
