//! `POST events/{id}/replay`, `POST replays`, `GET replays/{id}`, `DELETE replays/{id}`.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use hapax_core::DestinationId;
use hapax_core::store::{EventQuery, ReplayJobId, ReplayMode, Replayed};
use hapax_engine::ReplayRequest;
use http::StatusCode;
use http::header::LOCATION;
use serde::Deserialize;

use super::access::Actor;
use super::extract::{Named, Sent, event_id};
use super::fault::{Answer, Fault, Missing};
use super::show;
use super::state::{AdminState, Settings};
use super::views::{ReplayJobView, ReplayedView};

/// Events a second that a bulk replay puts back, unless asked otherwise.
const RATE_DEFAULT: u32 = 100;
/// Most events a second that a bulk replay may put back.
const RATE_MAX: u32 = 10_000;
/// Longest reason that the audit trail takes.
pub(super) const WHY_BYTES_MAX: usize = 1_024;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReplayOne {
    mode: Option<ReplayMode>,
    to: Option<String>,
    why: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReplayMany {
    query: Option<EventQuery>,
    mode: Option<ReplayMode>,
    to: Option<String>,
    rate: Option<u32>,
    why: String,
    dry_run: bool,
}

pub(super) async fn replay_one(
    State(state): State<AdminState>,
    Actor(who): Actor,
    Named(id): Named<String>,
    Sent(asked): Sent<ReplayOne>,
) -> Answer<Json<ReplayedView>> {
    let event = event_id(&id)?;
    let mode = asked.mode.unwrap_or(ReplayMode::Failed);
    let to = target(&state.settings.load(), asked.to.as_deref())?;
    check_why(&asked.why)?;
    match state.engine.replay(event, mode, to, &who, &asked.why).await? {
        Replayed::Again {
            deliveries,
            generation,
        } => Ok(Json(ReplayedView {
            event,
            mode,
            deliveries,
            generation: generation.0,
        })),
        Replayed::Unfinished => Err(Fault::work_unfinished(format!(
            "event {event} has deliveries that are not finished; wait until they are, or pause their destination \
             and look at `hapax events show {event}`"
        ))),
        Replayed::Nothing => Err(Fault::nothing_to_replay(nothing(mode))),
        Replayed::NotFound => Err(Fault::not_found(Missing::Event, show::no_event(event))),
    }
}

pub(super) async fn start(
    State(state): State<AdminState>,
    Actor(who): Actor,
    Sent(asked): Sent<ReplayMany>,
) -> Answer<Response> {
    let dry_run = asked.dry_run;
    let request = request(&state.settings.load(), asked, who)?;
    if dry_run {
        let preview = state.engine.preview_replay(&request).await?;
        return Ok(Json(show::preview(preview)).into_response());
    }
    let job = show::job(state.engine.start_replay(request).await?);
    let location = format!("/api/v1/replays/{}", job.id);
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(job)).into_response())
}

pub(super) async fn show(
    State(state): State<AdminState>,
    Named(id): Named<String>,
) -> Answer<Json<ReplayJobView>> {
    Ok(Json(find(&state, job_id(&id)?).await?))
}

pub(super) async fn cancel(
    State(state): State<AdminState>,
    Actor(who): Actor,
    Named(id): Named<String>,
) -> Answer<Json<ReplayJobView>> {
    let id = job_id(&id)?;
    if state.engine.cancel_replay(id, &who).await? {
        return Ok(Json(find(&state, id).await?));
    }
    find(&state, id).await?;
    Err(Fault::replay_over(format!(
        "replay {id} is over; there is nothing to cancel"
    )))
}

async fn find(state: &AdminState, id: ReplayJobId) -> Answer<ReplayJobView> {
    let job = state.engine.store().replay_job(id).await?;
    let missing = || Fault::not_found(Missing::Replay, format!("there is no replay {id}"));
    job.map(show::job).ok_or_else(missing)
}

fn request(settings: &Settings, asked: ReplayMany, who: String) -> Answer<ReplayRequest> {
    let query = asked.query.unwrap_or_default();
    if query == EventQuery::default() {
        return Err(Fault::invalid_parameter(
            "`query` is empty, which means every event ever; name at least one of source, status, type, event_id, \
             since, until",
        ));
    }
    let rate_per_second = asked.rate.unwrap_or(RATE_DEFAULT);
    if !(1..=RATE_MAX).contains(&rate_per_second) {
        let detail = format!("`rate` is {rate_per_second}; it is 1 to {RATE_MAX} events a second");
        return Err(Fault::invalid_parameter(detail));
    }
    check_why(&asked.why)?;
    Ok(ReplayRequest {
        query,
        mode: asked.mode.unwrap_or(ReplayMode::Failed),
        to: target(settings, asked.to.as_deref())?,
        rate_per_second,
        who,
        why: asked.why,
    })
}

fn target(settings: &Settings, to: Option<&str>) -> Answer<Option<DestinationId>> {
    to.map(|name| settings.destination(name)).transpose()
}

/// Refuses a reason that the audit trail has no room for.
pub(super) fn check_why(why: &str) -> Answer<()> {
    if why.len() <= WHY_BYTES_MAX {
        return Ok(());
    }
    Err(Fault::invalid_parameter(format!(
        "`why` has {} bytes; at most {WHY_BYTES_MAX} are kept",
        why.len()
    )))
}

fn job_id(text: &str) -> Answer<ReplayJobId> {
    let id = text.parse().map_err(|_| {
        Fault::invalid_parameter(format!(
            "`{text}` is not the id of a replay: it is a UUID, as `POST replays` answered"
        ))
    });
    id.map(ReplayJobId)
}

fn nothing(mode: ReplayMode) -> &'static str {
    match mode {
        ReplayMode::Failed => {
            "no delivery of this event is dead or discarded; mode `all` replays completed ones too, under the same key"
        }
        ReplayMode::All | ReplayMode::Force => {
            "this event never had a delivery; name a destination with `to`"
        }
    }
}
