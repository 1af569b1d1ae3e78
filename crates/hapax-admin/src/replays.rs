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

use super::access::{Caller, Narrowed};
use super::api_error::{ApiError, ApiResult, Missing};
use super::audit::PageParameters;
use super::events;
use super::extract::{JsonBody, PathParams, QueryParams, cursor, cursor_text, event_id, limit};
use super::filter;
use super::show;
use super::state::{AdminState, Settings};
use hapax_api::views::{ReplayJobView, ReplayPreviewView, ReplayedView, ReplaysView};
use hapax_telemetry::lines;

/// Events a second that a bulk replay puts back, unless asked otherwise.
pub const RATE_DEFAULT: u32 = 100;
/// Most events a second that a bulk replay may put back.
const RATE_MAX: u32 = 10_000;
/// Longest reason that the audit trail takes.
const WHY_CHARACTERS_MAX: usize = 1_024;

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({ "mode": "all", "to": "billing", "why": "billing lost a day" }))]
pub(super) struct ReplayOne {
    /// Which of its deliveries; `failed` unless said.
    #[schema(schema_with = hapax_api::schemas::replay_mode_or_null)]
    mode: Option<ReplayMode>,
    /// Only to this destination, even if it was added after the event.
    to: Option<String>,
    /// Why; it is kept in the audit trail.
    #[schema(max_length = 1024)]
    why: String,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "query": "source:stripe status:dead since:2h", "mode": "failed", "why": "billing is fixed", "dry_run": true }))]
pub(super) struct ReplayMany {
    /// Which events: a text in the query language, or the same as an object.
    #[schema(schema_with = hapax_api::schemas::which, required)]
    query: Option<Which>,
    /// Which of their deliveries; `failed` unless said.
    #[schema(schema_with = hapax_api::schemas::replay_mode_or_null)]
    mode: Option<ReplayMode>,
    /// Only to this destination, even if it was added after the events.
    to: Option<String>,
    /// At most this many events a second; 100 unless said.
    #[schema(minimum = 1, maximum = 10000)]
    rate: Option<u32>,
    /// Why; it is kept in the audit trail.
    #[schema(max_length = 1024)]
    #[serde(default)]
    why: String,
    /// Count and show a few, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Which events: a text in the query language, or the same as an object.
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

/// By hand, so that an unknown field is refused with its name.
struct WhichVisitor;

impl<'de> Visitor<'de> for WhichVisitor {
    type Value = Which;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a query as text, such as \"status:dead\", or as an object")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Which, E> {
        Ok(Which::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Which, A::Error> {
        let query = EventQuery::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Which::Fields(Box::new(query)))
    }
}

/// Puts one event back to work.
///
/// A replay keeps the idempotency key, so that a handler that has seen the event can tell; only mode `force` takes new
/// ones, under which it takes effect again.
#[utoipa::path(post, path = "/events/{id}/replay", operation_id = "replayEvent", tag = "replays",
    params(("id" = String, Path, description = "The id that Hapax gave the event.", format = "uuid")),
    request_body = ReplayOne,
    responses((status = 200, description = "What was put back.", body = ReplayedView)),
    extensions(("x-problems" = json!(["invalid_parameter", "malformed_body", "body_too_large", "event_not_found", "unknown_destination", "deliveries_unfinished", "nothing_to_replay"])))
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

/// Puts one event back to work; `by` is who and why.
pub async fn replayed(
    state: &AdminState,
    event: EventId,
    mode: ReplayMode,
    to: Option<DestinationId>,
    (who, why): (&Actor, &str),
) -> ApiResult<ReplayedView> {
    check_why(why)?;
    // Read before: afterwards it is too late to refuse.
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
        Replayed::Unfinished => Err(ApiError::deliveries_unfinished(format!(
            "event {event} has deliveries that are not finished; wait until they are, or pause their destination \
             and look at `hapax events show {event}`"
        ))),
        Replayed::Nothing if record.status == EventStatus::Held => Err(ApiError::nothing_to_replay(format!(
            "the event is held, because its body came before under another id; `hapax replay {event} --mode held` \
                 releases it, `hapax dead discard {event}` discards it"
        ))),
        Replayed::Nothing if left_alone.is_empty() => Err(ApiError::nothing_to_replay(nothing(mode))),
        Replayed::Nothing => Err(ApiError::nothing_to_replay(too_late(&left_alone))),
        Replayed::NotFound => Err(ApiError::not_found(Missing::Event, show::no_event(event))),
    }
}

/// Starts a bulk replay, or says what it would do.
///
/// A replay is a stored job: it goes on after a restart, at its own rate, and can be cancelled. Events with unfinished
/// work are left alone.
#[utoipa::path(post, path = "/replays", operation_id = "startReplay", tag = "replays",
    request_body = ReplayMany,
    responses((status = 200, description = "With `dry_run`: what it would do.", body = ReplayPreviewView), (status = 202, description = "The replay that was started; `Location` says where it is.", body = ReplayJobView, headers(("location" = String, description = "Its path.")))),
    extensions(("x-problems" = json!(["invalid_parameter", "malformed_body", "body_too_large", "unknown_destination"])))
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

/// Lists bulk replays, newest first, over or not.
#[utoipa::path(get, path = "/replays", operation_id = "listReplays", tag = "replays",
    params(PageParameters),
    responses((status = 200, description = "A page of replays.", body = ReplaysView)),
    extensions(("x-problems" = json!(["invalid_parameter"])))
)]
pub(super) async fn list(
    Narrowed(state): Narrowed,
    QueryParams(asked): QueryParams<PageParameters>,
) -> ApiResult<Json<ReplaysView>> {
    let (after, limit) = (cursor(asked.cursor.as_deref())?, limit(asked.limit)?);
    page(&state, after, limit).await.map(Json)
}

/// Shows how far a bulk replay is.
#[utoipa::path(get, path = "/replays/{id}", operation_id = "getReplay", tag = "replays",
    params(("id" = String, Path, description = "The id of the replay.", format = "uuid")),
    responses((status = 200, description = "The replay.", body = ReplayJobView)),
    extensions(("x-problems" = json!(["invalid_parameter", "replay_not_found"])))
)]
pub(super) async fn show(
    Narrowed(state): Narrowed,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<ReplayJobView>> {
    Ok(Json(find(&state, job_id(&id)?).await?))
}

/// Cancels a bulk replay.
///
/// What it has put back stays so.
#[utoipa::path(delete, path = "/replays/{id}", operation_id = "cancelReplay", tag = "replays",
    params(("id" = String, Path, description = "The id of the replay.", format = "uuid")),
    responses((status = 200, description = "The replay as it ended.", body = ReplayJobView)),
    extensions(("x-problems" = json!(["invalid_parameter", "replay_not_found", "replay_finished"])))
)]
pub(super) async fn cancel(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> ApiResult<Json<ReplayJobView>> {
    cancelled(&state, job_id(&id)?, &caller.actor).await.map(Json)
}

/// What a bulk replay would do.
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
    Err(ApiError::replay_finished(format!(
        "replay {id} has finished; there is nothing to cancel"
    )))
}

/// One bulk replay.
pub async fn find(state: &AdminState, id: ReplayJobId) -> ApiResult<ReplayJobView> {
    let job = state.engine.store().replay_job(id).await?;
    let missing = || ApiError::not_found(Missing::Replay, format!("there is no replay {id}"));
    let job = job.filter(|job| is_visible(state, job));
    job.map(|job| show::job(&state.settings.load(), job))
        .ok_or_else(missing)
}

/// Whether a job is about one of the sources that the caller sees, and nothing else.
fn is_visible(state: &AdminState, job: &ReplayJob) -> bool {
    let source = job.query.source.as_ref();
    state.visible.is_all() || source.is_some_and(|source| state.visible.sees(source.as_str()))
}

fn request(state: &AdminState, asked: ReplayMany, who: Actor) -> ApiResult<ReplayRequest> {
    let settings = &state.settings.load();
    let query = match asked.query {
        None => EventQuery::default(),
        Some(Which::Text(text)) => filter::read(settings, &text)?,
        Some(Which::Fields(query)) => filter::check(settings, *query)?,
    };
    if query == EventQuery::default() {
        return Err(ApiError::invalid_parameter(
            "`query` is empty, which means every event ever; name at least one term, such as source:stripe or \
             status:dead",
        ));
    }
    let rate_per_second = asked.rate.unwrap_or(RATE_DEFAULT);
    if !(1..=RATE_MAX).contains(&rate_per_second) {
        let detail = format!("`rate` is {rate_per_second}; it is 1 to {RATE_MAX} events a second");
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

/// Refuses a reason that the audit trail has no room for.
pub(super) fn check_why(why: &str) -> ApiResult<()> {
    let length = why.chars().count();
    if length <= WHY_CHARACTERS_MAX {
        return Ok(());
    }
    Err(ApiError::invalid_parameter(format!(
        "`why` has {length} characters; at most {WHY_CHARACTERS_MAX} are kept"
    )))
}

/// The id of a bulk replay in a path.
pub fn job_id(text: &str) -> ApiResult<ReplayJobId> {
    let id = text.parse().map_err(|_| {
        ApiError::invalid_parameter(format!(
            "`{text}` is not the id of a replay: it is a UUID, as `POST replays` answered"
        ))
    });
    id.map(ReplayJobId)
}

/// Why a replay leaves these destinations alone.
fn too_late(destinations: &[DestinationId]) -> String {
    let names: Vec<String> = destinations.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "{} applied this event longer ago than `inbox_retention` less a day: hapax_inbox may have forgotten it, and it \
         could take effect twice. Mode `force` makes it take effect again on purpose",
        names.join(", ")
    )
}

fn nothing(mode: ReplayMode) -> &'static str {
    match mode {
        ReplayMode::Failed => {
            "no delivery of this event is dead or discarded; mode `all` replays completed ones too, under the same key"
        }
        ReplayMode::Held => "no delivery of this event is held because of its body",
        ReplayMode::All | ReplayMode::Force => {
            "this event never had a delivery; name a destination with `to`"
        }
    }
}
