//! The outboxes: how much waits in each, and the form that tries a refused row again.

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::Timestamp;
use maud::{Markup, html};

use super::super::done::Done;
use super::super::form::form;
use super::super::moment::moment;
use super::super::viewer::{Changing, Viewer};
use super::super::{link, number};
use super::PATH;
use crate::http::admin::extract::Named;
use crate::http::admin::fault::Answer;
use crate::http::admin::views::OutboxView;
use crate::http::admin::{AdminState, outbox};

pub(super) fn section(viewer: &Viewer, outboxes: &[OutboxView], now: Timestamp) -> Markup {
    html! {
        @if !outboxes.is_empty() {
            h2 { "Outboxes" }
            div class="stack" { @for outbox in outboxes { (card(viewer, outbox, now)) } }
        }
    }
}

/// Tries a refused row of an outbox again.
pub(in crate::http::dashboard) async fn retry(
    State(state): State<AdminState>,
    Named((name, id)): Named<(String, i64)>,
    Changing(viewer, _): Changing,
) -> Answer<Response> {
    outbox::retried(&state, name, id, viewer.who).await?;
    Ok(Redirect::to(&link::done(PATH, Done::OutboxRetried)).into_response())
}

fn card(viewer: &Viewer, outbox: &OutboxView, now: Timestamp) -> Markup {
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
