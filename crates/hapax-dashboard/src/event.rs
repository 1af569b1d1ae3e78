//! `GET /events/{id}`: one event with its payload, its identity and its history.

mod actions;
mod conflicts;
mod export;
mod held;
mod identity;
mod payload;
mod timeline;

use axum::response::Response;
use hapax_core::{EventStatus, Timestamp};
use maud::{Markup, html};
use serde::Deserialize;

use super::frame::{self, Here};
use super::moment::moment;
use super::viewer::Viewer;
use super::{link, status};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::{PathParams, QueryParams, event_id};
use hapax_admin::{events, facts};
use hapax_api::readable;
use hapax_api::views::EventView;

pub(super) use actions::{forget, replay};
pub(super) use conflicts::release;
pub(super) use export::export;
pub(super) use payload::text as payload_text;

use payload::Shown;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    #[serde(rename = "as")]
    shown: Shown,
}

pub(super) async fn page(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    PathParams(id): PathParams<String>,
    QueryParams(asked): QueryParams<Parameters>,
) -> ApiResult<Response> {
    let record = events::visible(&state, viewer.caller.role, event_id(&id)?).await?;
    let now = state.now();
    let view = facts::event(&state, &record, now).await?;
    let conflicts = conflicts::section(&state, &viewer, &record, &view, now).await?;
    let destinations: Vec<String> = {
        let settings = state.settings.load();
        settings
            .destinations
            .iter()
            .map(|place| place.name.clone())
            .collect()
    };
    let content = html! {
        (summary(&view, now))
        (held::section(&viewer, &view))
        (timeline::section(&view, now))
        h2 { "Identity" }
        (identity::section(&view, now))
        (conflicts)
        (payload::section(&view, &record.event.body, asked.shown))
        (export::section(&viewer, &view))
        (actions::section(&viewer, &view, &destinations))
    };
    let title = format!("Event {}", view.event_id);
    Ok(frame::page(&viewer, Here::Events, &title, content))
}

fn summary(view: &EventView, now: Timestamp) -> Markup {
    html! {
        @if let Some(earlier) = view.same_body_as {
            p class="notice warn" {
                "The same body arrived before under another id, as event " a href=(link::event(earlier)) { (earlier) }
                ". This provider does not sign its ids, so the request may have been replayed."
            }
        }
        @if view.is_erased {
            p class="notice" { "This event was erased: its headers, body, conflicts and the responses of destinations were deleted. Another delivery of it is still a duplicate." }
        }
        dl class="kv card" {
            dt { "Status" } dd { (status::status(view.status)) " " span class="muted" { (meaning(view.status)) } }
            dt { "Source" } dd { a href=(link::search(&format!("source:{}", view.source))) { (view.source) } }
            dt { "Type" } dd { (view.event_type.as_deref().unwrap_or("none")) }
            dt { "Received" } dd { (moment(view.received_at, now)) " " span class="muted" { (view.received_at) } }
            dt { "Hapax id" } dd { code { (view.id) } }
            dt { "Body" } dd { (readable::size(view.body_bytes)) ", SHA-256 " code class="wrap" { (view.body_sha256) } }
            @if let Some(batch) = view.batch { dt { "Batch" } dd { "item " (batch.index) " of request " code { (batch.id) } } }
        }
    }
}

const fn meaning(status: EventStatus) -> &'static str {
    match status {
        EventStatus::Completed => "delivered to every destination",
        EventStatus::Pending => "deliveries are in progress",
        EventStatus::Failed => "an attempt failed and will be retried",
        EventStatus::Quarantined => "it has no provider id and is not delivered until you replay it",
        EventStatus::Dead => "a delivery is dead",
        EventStatus::Held => "held until an operator releases it",
        EventStatus::Ignored => "it has no destination",
    }
}
