//! The actions on an event: replay it, or forget its id.

use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::store::ReplayMode;
use maud::{Markup, html};

use super::super::done::Done;
use super::super::fields::Fields;
use super::super::form::form;
use super::super::link;
use super::super::viewer::{Acting, Viewer};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::{ApiError, ApiResult};
use hapax_admin::extract::{PathParams, event_id};
use hapax_admin::{ledger, replays};
use hapax_api::views::EventView;

const MODES: [(ReplayMode, &str, &str); 3] = [
    (ReplayMode::Failed, "failed", "Only dead and discarded deliveries"),
    (
        ReplayMode::All,
        "all",
        "All deliveries, under the same keys: a handler that already processed the event ignores it",
    ),
    (
        ReplayMode::Force,
        "force",
        "All deliveries, under new keys: the event takes effect again",
    ),
];

pub(super) fn section(viewer: &Viewer, view: &EventView, destinations: &[String]) -> Markup {
    html! {
        section aria-labelledby="replay" {
            h2 id="replay" { "Deliver again" }
            div class="card spaced" {
                (form(viewer, &format!("{}/replay", link::event(view.id)), replay_fields(destinations)))
            }
            details {
                summary { "Forget this id" }
                div class="card stack" {
                    p { "The next delivery with the id " code { (view.event_id) } " from " (view.source) " is accepted as new and takes effect again. This takes about ten seconds, until every cache has forgotten it." }
                    (form(viewer, "/ledger/forget", html! {
                        input type="hidden" name="source" value=(view.source);
                        input type="hidden" name="event_id" value=(view.event_id);
                        input type="hidden" name="event" value=(view.id);
                        button class="button danger" type="submit" { "Forget the id" }
                    }))
                }
            }
        }
    }
}

fn replay_fields(destinations: &[String]) -> Markup {
    html! {
        fieldset class="stack" {
            legend { "Deliveries" }
            @for (number, (_, value, words)) in MODES.iter().enumerate() {
                label class="choice" {
                    input type="radio" name="mode" value=(value) checked[number == 0];
                    " " b { (value) } ": " (words)
                }
            }
        }
        div class="grid" {
            div {
                label for="replay-to" { "Destination" }
                select id="replay-to" name="to" {
                    option value="" { "every destination of the event" }
                    @for name in destinations { option value=(name) { (name) } }
                }
            }
            div {
                label for="replay-why" { "Reason, for the audit trail" }
                input id="replay-why" name="why" maxlength="1024";
            }
        }
        button class="button primary" type="submit" data-key="r" { "Deliver again" }
    }
}

/// The replay mode from a form.
pub(crate) fn mode(fields: &Fields) -> ApiResult<ReplayMode> {
    let named = fields.filled("mode").unwrap_or("failed");
    if named == "held" {
        return Ok(ReplayMode::Held);
    }
    let found = MODES.iter().find(|(_, value, _)| *value == named);
    found.map(|(mode, _, _)| *mode).ok_or_else(|| {
        ApiError::invalid_parameter(format!(
            "`{named}` is not a replay mode; use failed, all or force"
        ))
    })
}

/// `POST /events/{id}/replay`.
pub(crate) async fn replay(
    Narrowed(state): Narrowed,
    PathParams(id): PathParams<String>,
    Acting(viewer, fields): Acting,
) -> ApiResult<Response> {
    let (event, mode) = (event_id(&id)?, mode(&fields)?);
    let to = fields
        .filled("to")
        .map(|name| state.settings.load().destination(name))
        .transpose()?;
    let why = fields.filled("why").unwrap_or_default();
    replays::replayed(&state, event, mode, to, (&viewer.caller.actor, why)).await?;
    Ok(Redirect::to(&link::done(&link::event(event), Done::Replayed)).into_response())
}

/// `POST /ledger/forget`.
pub(crate) async fn forget(Narrowed(state): Narrowed, Acting(viewer, fields): Acting) -> ApiResult<Response> {
    let named = |name: &str| fields.get(name).unwrap_or_default().to_owned();
    ledger::forgotten(&state, named("source"), named("event_id"), &viewer.caller.actor).await?;
    let back = match fields.filled("event") {
        Some(id) => link::event(event_id(id)?),
        None => "/events".to_owned(),
    };
    Ok(Redirect::to(&link::done(&back, Done::Forgotten)).into_response())
}
