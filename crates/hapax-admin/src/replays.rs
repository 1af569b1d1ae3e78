//! `POST events/{id}/replay`, `GET replays`, `POST replays`, `GET replays/{id}`, `DELETE replays/{id}`.

use std::fmt;

use axum::Json;
use axum::response::{IntoResponse, Response};
use hapax_core::store::{Actor, Cursor, EventQuery, ReplayJob, ReplayJobId, ReplayMode, Replayed};
use hapax_core::{DestinationId, EventId, EventStatus};
use hapax_engine::ReplayRequest;
use http::StatusCode;
use http::header::LOCATION;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::audit::PageParameters;
use super::events;
use super::extract::{JsonBody, PathParams, QueryParams, cursor, cursor_text, event_id, limit};
use super::filter;
use super::show;
use super::state::{AdminState, Settings};
use hapax_api::problem::Code;
use hapax_api::views::{ReplayJobView, ReplayPreviewView, ReplayedView, ReplaysView};
use hapax_telemetry::lines;

/// Default rate of a bulk replay, in events per second.
pub const RATE_DEFAULT: u32 = 100;
/// Maximum rate of a bulk replay, in events per second.
const RATE_MAX: u32 = 10_000;
/// Maximum length of a reason in the audit trail.
const WHY_CHARACTERS_MAX: usize = 1_024;

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({ "mode": "all", "to": "billing", "why": "billing lost a day" }))]
pub(super) struct ReplayOne {
    /// Which of its deliveries to replay [default: `failed`].
    #[schema(schema_with = hapax_api::schemas::replay_mode_or_null)]
    mode: Option<ReplayMode>,
    /// Only to this destination, even if it was added after the event.
    to: Option<String>,
    /// The reason, which is kept in the audit trail.
    #[schema(max_length = 1024)]
    why: String,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "query": "source:stripe status:dead since:2h", "mode": "failed", "why": "billing is fixed", "dry_run": true }))]
pub(super) struct ReplayMany {
    /// The events to replay: a string in the query language, or the same query as an object.
    #[schema(schema_with = hapax_api::schemas::which, required)]
    query: Option<Which>,
    /// Which of their deliveries to replay [default: `failed`].
    #[schema(schema_with = hapax_api::schemas::replay_mode_or_null)]
    mode: Option<ReplayMode>,
    /// Only to this destination, even if it was added after the events.
    to: Option<String>,
    /// The maximum number of events per second [default: 100].
    #[schema(minimum = 1, maximum = 10000)]
    rate: Option<u32>,
    /// The reason, which is kept in the audit trail.
    #[schema(max_length = 1024)]
    #[serde(default)]
    why: String,
    /// Whether to count and preview the events without changing anything [default: false].
    #[serde(default)]
    dry_run: bool,
}

/// A query as a string in the query language or as an object.
#[derive(Debug)]
enum Which {
    Text(String),
    Fields(Box<EventQuery>),
}

impl<'de> Deserialize<'de> for Which {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WhichVisitor)
    }
}

/// Implemented by hand, so that an error names an unknown field.
struct WhichVisitor;

impl<'de> Visitor<'de> for WhichVisitor {
    type Value = Which;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a query as a string, such as \"status:dead\", or as an object")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Which, E> {
        Ok(Which::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Which, A::Error> {
        let query = EventQuery::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Which::Fields(Box::new(query)))
    }
}

/// Replays one event.
///
/// A replay keeps the idempotency key, so that a handler can recognize an event that it has seen. Only the mode
/// `force` uses new keys, so that the event takes effect again.
#[utoipa::path(post, path = "/events/{id}/replay", operation_id = "replayEvent", tag = "replays",
    params(("id" = String, Path, description = "The Hapax id of the event.", format = "uuid")),
    request_body = ReplayOne,
    responses((status = 200, description = "The result of the replay.", body = ReplayedView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::MalformedBody, Code::BodyTooLarge, Code::EventNotFound, Code::UnknownDestination, Code::DeliveriesUnfinished, Code::NothingToReplay])))
)]
pub(super) async fn replay_one(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(id): PathParams<String>,
    JsonBody(asked): JsonBody<ReplayOne>,
) -> ApiResult<Json<ReplayedView>> {
    let mode = asked.mode.unwrap_or(ReplayMode::Failed);
    let to = target(&state.settings.load(), asked.to.as_deref())?;
    replayed(&state, event_id(&id)?, mode, to, (&caller.actor, &asked.why))
        .await
        .map(Json)
}

/// Replays one event. The last argument is who and why.
pub async fn replayed(
    state: &AdminState,
    event: EventId,
    mode: ReplayMode,
    to: Option<DestinationId>,
    (who, why): (&Actor, &str),
) -> ApiResult<ReplayedView> {
    check_why(why)?;
    // Read first: after the replay it would be too late to refuse.
    let record = events::record(state, event).await?;
    let mut left_alone = state.engine.too_late(&record, mode);
    left_alone.retain(|destination| to.as_ref().is_none_or(|to| to == destination));
    match state.engine.replay(event, mode, to, who, why).await? {
        Replayed::Again {
            deliveries,
            generation,
        } => {
            lines::replayed(&record.event, deliveries, &who.name);
            Ok(ReplayedView {
                event,
                mode,
                deliveries,
                generation: generation.0,
                left_alone: left_alone.iter().map(ToString::to_string).collect(),
            })
        }
        Replayed::Unfinished => Err(ApiError::new(
            Code::DeliveriesUnfinished,
            format!(
                "event {event} has unfinished deliveries; wait until they finish, or pause their destination and run \
             `hapax events show {event}`"
            ),
        )),
        Replayed::Nothing if record.status == EventStatus::Held => Err(ApiError::new(
            Code::NothingToReplay,
            format!(
                "the event is held, because its body arrived before under another id; `hapax replay {event} --mode held` \
                 releases it, `hapax dead discard {event}` discards it"
            ),
        )),
        Replayed::Nothing if left_alone.is_empty() => {
            Err(ApiError::new(Code::NothingToReplay, nothing(mode)))
        }
        Replayed::Nothing => Err(ApiError::new(Code::NothingToReplay, too_late(&left_alone))),
        Replayed::NotFound => Err(ApiError::new(Code::EventNotFound, show::no_event(event))),
    }
}

/// Starts a bulk replay, or previews it.
///
/// A bulk replay is a stored job: it resumes after a restart, runs at its own rate, and can be cancelled. Events with
/// unfinished deliveries are skipped.
#[utoipa::path(post, path = "/replays", operation_id = "startReplay", tag = "replays",
    request_body = ReplayMany,
    responses((status = 200, description = "With `dry_run`: a preview of the replay.", body = ReplayPreviewView), (status = 202, description = "The replay was started; `Location` is its path.", body = ReplayJobView, headers(("location" = String, description = "The path of the replay.")))),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::MalformedBody, Code::BodyTooLarge, Code::UnknownDestination])))
)]
pub(super) async fn start(
    Narrowed(state): Narrowed,
    caller: Caller,
    JsonBody(asked): JsonBody<ReplayMany>,
) -> ApiResult<Response> {
    let dry_run = asked.dry_run;
    let request = request(&state, asked, caller.actor)?;
    if dry_run {
        return Ok(Json(preview(&state, &request).await?).into_response());
    }
    let job = started(&state, request).await?;
    let location = format!("/api/v1/replays/{}", job.id);
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(job)).into_response())
}

/// Lists bulk replays, running and finished, newest first.
#[utoipa::path(get, path = "/replays", operation_id = "listReplays", tag = "replays",
    params(PageParameters),
    responses((status = 200, description = "A page of replays.", body = ReplaysView)),
    extensions(("x-problems" = json!([Code::InvalidParameter])))
)]
pub(super) async fn list(
    Narrowed(state): Narrowed,
    QueryParams(asked): QueryParams<PageParameters>,
) -> ApiResult<Json<ReplaysView>> {
    let (after, limit) = (cursor(asked.cursor.as_deref())?, limit(asked.limit)?);
    page(&state, after, limit).await.map(Json)
}

/// Shows the progress of a bulk replay.
#[utoipa::path(get, path = "/replays/{id}", operation_id = "getReplay", tag = "replays",
    params(("id" = String, Path, description = "The id of the replay.", format = "uuid")),
    responses((status = 200, description = "The replay.", body = ReplayJobView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::ReplayNotFound])))
)]
pub(super) async fn show(
    Narrowed(state): Narrowed,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<ReplayJobView>> {
    Ok(Json(find(&state, job_id(&id)?).await?))
}

/// Cancels a bulk replay.
///
/// Deliveries that were already requeued stay queued.
#[utoipa::path(delete, path = "/replays/{id}", operation_id = "cancelReplay", tag = "replays",
    params(("id" = String, Path, description = "The id of the replay.", format = "uuid")),
    responses((status = 200, description = "The cancelled replay.", body = ReplayJobView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::ReplayNotFound, Code::ReplayFinished])))
)]
pub(super) async fn cancel(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<ReplayJobView>> {
    cancelled(&state, job_id(&id)?, &caller.actor).await.map(Json)
}

/// A preview of a bulk replay.
pub async fn preview(state: &AdminState, request: &ReplayRequest) -> ApiResult<ReplayPreviewView> {
    Ok(show::preview(state.engine.preview_replay(request).await?))
}

/// Starts a bulk replay.
pub async fn started(state: &AdminState, request: ReplayRequest) -> ApiResult<ReplayJobView> {
    let job = state.engine.start_replay(request).await?;
    Ok(show::job(&state.settings.load(), job))
}

/// One page of bulk replays.
pub async fn page(state: &AdminState, after: Option<Cursor>, limit: u32) -> ApiResult<ReplaysView> {
    let (jobs, next) = state.engine.store().replay_jobs(after, limit).await?;
    let settings = state.settings.load();
    Ok(ReplaysView {
        replays: jobs
            .into_iter()
            .filter(|job| is_visible(state, job))
            .map(|job| show::job(&settings, job))
            .collect(),
        next: next.map(cursor_text),
    })
}

/// Cancels a bulk replay.
pub async fn cancelled(state: &AdminState, id: ReplayJobId, who: &Actor) -> ApiResult<ReplayJobView> {
    find(state, id).await?;
    if state.engine.cancel_replay(id, who).await? {
        return find(state, id).await;
    }
    Err(ApiError::new(
        Code::ReplayFinished,
        format!("replay {id} has finished; there is nothing to cancel"),
    ))
}

/// One bulk replay.
pub async fn find(state: &AdminState, id: ReplayJobId) -> ApiResult<ReplayJobView> {
    let job = state.engine.store().replay_job(id).await?;
    let missing = || ApiError::new(Code::ReplayNotFound, format!("there is no replay {id}"));
    let job = job.filter(|job| is_visible(state, job));
    job.map(|job| show::job(&state.settings.load(), job))
        .ok_or_else(missing)
}

/// Whether a job concerns only a source that the caller sees.
fn is_visible(state: &AdminState, job: &ReplayJob) -> bool {
    let source = job.query.source.as_ref();
    state.visible.is_all() || source.is_some_and(|source| state.visible.sees(source.as_str()))
}

fn request(state: &AdminState, asked: ReplayMany, who: Actor) -> ApiResult<ReplayRequest> {
    let settings = &state.settings.load();
    let query = match asked.query {
        None => EventQuery::default(),
        Some(Which::Text(text)) => filter::read(state, &text)?,
        Some(Which::Fields(query)) => filter::check(settings, *query)?,
    };
    if query == EventQuery::default() {
        return Err(ApiError::invalid_parameter(
            "`query` is empty, which would select every event; add at least one term, such as source:stripe or \
             status:dead",
        ));
    }
    let rate_per_second = asked.rate.unwrap_or(RATE_DEFAULT);
    if !(1..=RATE_MAX).contains(&rate_per_second) {
        let detail = format!("`rate` is {rate_per_second}; it must be 1 to {RATE_MAX} events per second");
        return Err(ApiError::invalid_parameter(detail));
    }
    check_why(&asked.why)?;
    Ok(ReplayRequest {
        query: state.visible.narrow_to_one(query)?,
        mode: asked.mode.unwrap_or(ReplayMode::Failed),
        to: target(settings, asked.to.as_deref())?,
        rate_per_second,
        who,
        why: asked.why,
    })
}

fn target(settings: &Settings, to: Option<&str>) -> ApiResult<Option<DestinationId>> {
    to.map(|name| settings.destination(name)).transpose()
}

/// Refuses a reason that is too long for the audit trail.
pub(super) fn check_why(why: &str) -> ApiResult<()> {
    let length = why.chars().count();
    if length <= WHY_CHARACTERS_MAX {
        return Ok(());
    }
    Err(ApiError::invalid_parameter(format!(
        "`why` has {length} characters; at most {WHY_CHARACTERS_MAX} are allowed"
    )))
}

/// Parses the id of a bulk replay from a path.
pub fn job_id(text: &str) -> ApiResult<ReplayJobId> {
    let id = text.parse().map_err(|_| {
        ApiError::invalid_parameter(format!(
            "`{text}` is not a replay id: it must be a UUID, as returned by `POST replays`"
        ))
    });
    id.map(ReplayJobId)
}

/// Why a replay skips these destinations.
fn too_late(destinations: &[DestinationId]) -> String {
    let names: Vec<String> = destinations.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "{} applied this event longer ago than `inbox_retention` minus a day: hapax_inbox may have forgotten it, and \
         it could take effect twice. Mode `force` applies it again on purpose",
        names.join(", ")
    )
}

fn nothing(mode: ReplayMode) -> &'static str {
    match mode {
        ReplayMode::Failed => {
            "no delivery of this event is dead or discarded; mode `all` also replays completed ones, under the same key"
        }
        ReplayMode::Held => "no delivery of this event is held because of its body",
        ReplayMode::All | ReplayMode::Force => {
            "this event never had a delivery; name a destination with `to`"
        }
    }
}
