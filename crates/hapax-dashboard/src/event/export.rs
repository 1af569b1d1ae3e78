//! Exports of an event, each behind a link that works without JavaScript.

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use super::super::link;
use super::super::viewer::Viewer;
use super::payload::plain;
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::events;
use hapax_admin::export::{self, ExportFormat};
use hapax_admin::extract::{PathParams, QueryParams, event_id};
use hapax_api::views::EventView;
use hapax_config::Role;

#[derive(Debug, Deserialize)]
pub(crate) struct Parameters {
    #[serde(rename = "as")]
    format: ExportFormat,
}

pub(super) fn section(viewer: &Viewer, view: &EventView) -> Markup {
    let shown = |one: &&ExportFormat| viewer.caller.role.can_see_proofs() || **one != ExportFormat::Curl;
    html! {
        section aria-labelledby="export" {
            h2 id="export" { "Export as" }
            p class="muted" { "A request that is signed now, or a test for your handler that delivers this event twice." }
            p class="row" {
                @for one in ExportFormat::ALL.iter().filter(shown) {
                    a class="button" href={ (link::event(view.id)) "/export?as=" (one.as_str()) } data-copy-from { (one.title()) }
                }
            }
        }
    }
}

/// `GET /events/{id}/export?as=…`.
pub(crate) async fn export(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    PathParams(id): PathParams<String>,
    QueryParams(asked): QueryParams<Parameters>,
) -> ApiResult<Response> {
    // Anyone who has a fresh signature can deliver to the source.
    if asked.format == ExportFormat::Curl {
        viewer.caller.check_role(Role::Operate)?;
    }
    let record = events::visible(&state, viewer.caller.role, event_id(&id)?).await?;
    let text = export::text(&state, &record, asked.format, state.now())?;
    Ok(plain(text, asked.format.file_name()))
}
