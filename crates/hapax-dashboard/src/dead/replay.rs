//! Replaying a group: a preview with a confirmation, then the page of the job.

use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::store::ReplayMode;
use hapax_core::{DestinationId, ErrorClass};
use hapax_engine::ReplayRequest;
use maud::{Markup, html};

use super::super::done::Done;
use super::super::fields::Fields;
use super::super::form::form;
use super::super::frame::{self, Here};
use super::super::moment::moment;
use super::super::viewer::{Acting, Viewer};
use super::super::{link, status};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::{ApiError, ApiResult};
use hapax_admin::replays::RATE_DEFAULT;
use hapax_admin::{AdminState, filter, replays};
use hapax_api::readable;
use hapax_api::views::{CoverageView, ReplayPreviewView};

/// `POST /dead/replay`: the preview.
pub(crate) async fn ask(Narrowed(state): Narrowed, Acting(viewer, fields): Acting) -> ApiResult<Response> {
    let request = request(&state, &viewer, &fields)?;
    let preview = replays::preview(&state, &request).await?;
    let content = confirmation(&state, &viewer, &fields, &request, &preview);
    Ok(frame::page(&viewer, Here::Dead, "Replay a group", content))
}

/// `POST /dead/replay/start`: starts the replay.
pub(crate) async fn start(Narrowed(state): Narrowed, Acting(viewer, fields): Acting) -> ApiResult<Response> {
    let job = replays::started(&state, request(&state, &viewer, &fields)?).await?;
    let expected: u64 = fields
        .filled("of")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let page = link::done(&format!("/replays/{}", job.id), Done::ReplayStarted);
    Ok(Redirect::to(&format!("{page}&of={expected}")).into_response())
}

fn request(state: &AdminState, viewer: &Viewer, fields: &Fields) -> ApiResult<ReplayRequest> {
    let text = fields.filled("q").ok_or_else(|| {
        ApiError::invalid_parameter("the form selects no events, which would mean every event")
    })?;
    let query = filter::read(state, text)?;
    Ok(ReplayRequest {
        mode: match query.error {
            Some(ErrorClass::SameBody) => ReplayMode::Held,
            Some(_) | None => ReplayMode::Failed,
        },
        query: state.visible.narrow_to_one(query)?,
        to: fields.filled("to").map(DestinationId::from),
        rate_per_second: RATE_DEFAULT,
        who: viewer.caller.actor.clone(),
        why: fields.filled("why").unwrap_or_default().to_owned(),
    })
}

fn confirmation(
    state: &AdminState,
    viewer: &Viewer,
    fields: &Fields,
    request: &ReplayRequest,
    preview: &ReplayPreviewView,
) -> Markup {
    let now = state.now();
    let to = request.to.as_ref().map(|id| state.settings.load().name_of(id));
    html! {
        div class="notice" {
            p {
                b { (readable::count(preview.matched)) @if preview.matched == 1 { " event" } @else { " events" } }
                " would be replayed" @if let Some(name) = &to { " to " b { (name) } }
                ", at most " (readable::count(request.rate_per_second.into())) " per second. Nothing has changed yet."
            }
            @if let CoverageView::Newest { is_cut: true, .. } = &preview.coverage {
                p { "The search reached its limit: older matching events may be missing." }
            }
        }
        (form(viewer, "/dead/replay/start", html! {
            input type="hidden" name="q" value=(fields.get("q").unwrap_or_default());
            input type="hidden" name="to" value=(fields.get("to").unwrap_or_default());
            input type="hidden" name="of" value=(preview.matched);
            div class="card stack" {
                label for="why" { "Reason, for the audit trail" }
                input id="why" name="why" maxlength="1024";
                div class="row" {
                    button class="button primary" type="submit" { "Replay " (readable::count(preview.matched)) }
                    a class="button" href="/dead" { "Do nothing" }
                }
            }
        }))
        @if !preview.samples.is_empty() {
            h2 { "Sample" }
            div class="table" {
                table {
                    thead { tr { th scope="col" { "Event" } th scope="col" { "Source" } th scope="col" { "Status" } th scope="col" { "Received" } } }
                    tbody {
                        @for event in &preview.samples {
                            tr {
                                th scope="row" { a href=(link::event(event.id)) { (event.event_id) } }
                                td { (event.source) } td { (status::status(event.status)) } td { (moment(event.received_at, now)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
