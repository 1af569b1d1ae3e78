//! Copies of an event to run, each behind a link that works without a script.

use axum::response::Response;
use hapax_core::{Clock as _, SystemClock};
use maud::{Markup, html};
use serde::Deserialize;

use super::super::link;
use super::super::viewer::Viewer;
use super::payload::plain;
use crate::config::Role;
use crate::http::admin::access::Narrowed;
use crate::http::admin::copy::{self, CopyAs};
use crate::http::admin::events;
use crate::http::admin::extract::{Asked, Named, event_id};
use crate::http::admin::fault::Answer;
use crate::http::admin::views::EventView;

#[derive(Debug, Deserialize)]
pub(in crate::http::dashboard) struct Parameters {
    #[serde(rename = "as")]
    copy_as: CopyAs,
}

pub(super) fn section(viewer: &Viewer, view: &EventView) -> Markup {
    let shown = |one: &&CopyAs| viewer.caller.role.can_see_proofs() || **one != CopyAs::Curl;
    html! {
        section aria-labelledby="copy" {
            h2 id="copy" { "Copy as" }
            p class="muted" { "A request that is signed now, or a test for your handler that delivers this event twice." }
            p class="row" {
                @for one in CopyAs::ALL.iter().filter(shown) {
                    a class="button" href={ (link::event(view.id)) "/copy?as=" (one.as_str()) } data-copy-from { (one.title()) }
                }
            }
        }
    }
}

/// `GET /events/{id}/copy?as=…`.
pub(in crate::http::dashboard) async fn copy(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    Named(id): Named<String>,
    Asked(asked): Asked<Parameters>,
) -> Answer<Response> {
    // A signature made now lets anyone who has it deliver to the source.
    if asked.copy_as == CopyAs::Curl {
        viewer.caller.check_role(Role::Operate)?;
    }
    let record = events::visible(&state, viewer.caller.role, event_id(&id)?).await?;
    let text = copy::text(&state, &record, asked.copy_as, SystemClock::default().now())?;
    Ok(plain(text, asked.copy_as.file_name()))
}
