//! `GET /outbox`: the state of each outbox, its refused rows, and the form to retry one.

use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::Timestamp;
use maud::{Markup, html};

use super::done::Done;
use super::form::form;
use super::frame::{self, Here};
use super::link;
use super::moment::moment;
use super::status::{Tone, badge};
use super::viewer::{Acting, Viewer};
use super::written::written;
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::PathParams;
use hapax_admin::outbox;
use hapax_api::readable;
use hapax_api::views::{OutboxRowView, OutboxView};
use hapax_delivery::outbox::{COUNT_MAX, full_name};

const PATH: &str = "/outbox";

pub(super) async fn page(Narrowed(state): Narrowed, viewer: Viewer) -> ApiResult<Response> {
    let all = outbox::all(&state).await.outboxes;
    let now = state.now();
    let settings = state.settings.load();
    let content = html! {
        p { "Rows that your applications write into " code { "hapax_outbox" } " become events and are delivered like webhooks." }
        @if all.is_empty() {
            p class="card empty" { "No outbox is configured. Add " code { "[outbox.NAME]" } " with its " code { "url" } " to hapax.toml." }
        }
        div class="stack" {
            @for outbox in &all {
                section class="card stack" id={ "outbox-" (outbox.name) } {
                    (card(outbox, now))
                    (refused(&viewer, outbox))
                    (written(&settings, &format!("outbox.{}", outbox.name)))
                }
            }
        }
    };
    Ok(frame::page(&viewer, Here::Outbox, "Outbox", content))
}

/// Retries a refused row of an outbox.
pub(super) async fn retry(
    Narrowed(state): Narrowed,
    PathParams((name, id)): PathParams<(String, i64)>,
    Acting(viewer, _): Acting,
) -> ApiResult<Response> {
    outbox::retried(&state, name, id, &viewer.caller.actor).await?;
    Ok(Redirect::to(&link::done(PATH, Done::OutboxRetried)).into_response())
}

fn card(outbox: &OutboxView, now: Timestamp) -> Markup {
    html! {
        div class="row spread" {
            h2 { (outbox.name) }
            (state_badge(outbox))
        }
        @if let Some(problem) = &outbox.problem {
            p class="notice bad" { "Its table cannot be used, and its rows wait: " (problem) }
        } @else {
            dl class="kv" {
                dt { "Waiting" }
                dd {
                    (count(outbox.pending))
                    @if let Some(at) = outbox.oldest_at { ", the oldest written " (moment(at, now)) }
                }
                dt { "Being relayed" } dd { (count(outbox.leased)) }
                dt { "Refused" } dd { (count(outbox.refused)) }
                dt { "Relayed" } dd { (count(outbox.relayed)) ", until they are deleted" }
            }
        }
        dl class="kv" {
            dt { "Table" } dd { code { "hapax_outbox" } " in " code { (outbox.url) } }
            dt { "Events" } dd { a href=(link::search(&format!("source:{}", full_name(&outbox.name)))) { "Relayed events" } }
        }
    }
}

/// The badge for an outbox's state.
fn state_badge(outbox: &OutboxView) -> Markup {
    match (&outbox.problem, outbox.refused) {
        (Some(_), _) => badge(Tone::Bad, "down"),
        (None, 0) => badge(Tone::Good, "relayed"),
        (None, _) => badge(Tone::Warn, "has refused rows"),
    }
}

fn refused(viewer: &Viewer, outbox: &OutboxView) -> Markup {
    html! {
        @if !outbox.refused_rows.is_empty() {
            div class="table" {
                table {
                    caption { "The first refused rows, by id. Correct the row or the configuration and retry it, or delete the row." }
                    thead {
                        tr {
                            th scope="col" class="number" { "Row" } th scope="col" { "Key" } th scope="col" { "Order key" }
                            th scope="col" { "Why" } th scope="col" { "Try again" }
                        }
                    }
                    tbody { @for row in &outbox.refused_rows { (refused_row(viewer, outbox, row)) } }
                }
            }
        }
    }
}

fn refused_row(viewer: &Viewer, outbox: &OutboxView, row: &OutboxRowView) -> Markup {
    let action = format!("{}/{}/retry", link::under("outbox", &outbox.name, "rows"), row.id);
    html! {
        tr {
            th scope="row" class="number" { (row.id) }
            td { code class="wrap" { (row.idempotency_key) } }
            td {
                @match &row.order_key {
                    Some(key) => { code class="wrap" { (key) } },
                    None => "–",
                }
            }
            td class="wrap" { (row.error) }
            td { (form(viewer, &action, html! { button class="button" type="submit" { "Try row " (row.id) " again" } })) }
        }
    }
}

fn count(rows: u64) -> String {
    let counted = readable::count(rows);
    if rows >= COUNT_MAX as u64 {
        format!("{counted} or more")
    } else {
        counted
    }
}
