//! `GET events/stream`: a live tail of arrivals as server-sent events.
//!
//! Lossy on purpose: a reader that is too slow receives the number of arrivals it missed, and nothing waits for it. A
//! stream ends when the process stops.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt as _};
use hapax_core::store::EventQuery;
use hapax_engine::Notice;
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, TryAcquireError};
use utoipa::IntoParams;

use super::access::VisibleSources;
use super::admission::{Narrowed, StillAdmitted};
use super::api_error::{ApiError, ApiResult};
use super::extract::QueryParams;
use super::filter;
use super::readiness::Readiness;
use super::state::{AdminState, STREAMS_MAX};
use hapax_api::problem::Code;

/// How often an idle stream sends a keep-alive, so that proxies do not close it.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The arrivals to stream; everything given must match.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TailParameters {
    /// The arrivals to stream, in the query language. Only `source:`, `type:`, `id:` and `since:` are allowed.
    #[param(schema_with = hapax_api::schemas::query_text)]
    q: Option<String>,
    /// Only arrivals of this source.
    source: Option<String>,
    /// Only arrivals of this type; a trailing `*` matches any ending.
    #[serde(rename = "type")]
    event_type: Option<String>,
    /// Only arrivals with this id: the provider's or the Hapax id.
    event_id: Option<String>,
}

/// Streams arrivals as they happen (server-sent events).
///
/// Each `arrival` contains `id`, `source`, `event_id`, `type`, `received_at` and `status` (accepted, duplicate or
/// conflict). A reader that is too slow receives `lagged` with the number it missed. At most 64 streams can be open.
/// A stream ends at most two seconds after its caller loses access.
#[utoipa::path(get, path = "/events/stream", operation_id = "streamEvents", tag = "events",
    params(TailParameters),
    responses((status = 200, description = "An open-ended stream of arrivals.", content_type = "text/event-stream", body = String)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::TooManyStreams])))
)]
pub(super) async fn tail(
    Narrowed(state): Narrowed,
    admitted: StillAdmitted,
    QueryParams(wanted): QueryParams<TailParameters>,
) -> ApiResult<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let permit = permit(&state)?;
    let tail = Tail {
        wanted: state.visible.narrow(wanted.into_query(&state)?)?,
        visible: state.visible,
        notices: state.engine.tail(),
        readiness: state.readiness,
        _permit: permit,
    };
    let stream = futures_util::stream::unfold(tail, |mut tail| async {
        let event = tail.next().await?;
        Some((Ok(event), tail))
    });
    let stream = stream.take_until(admitted.ends());
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

struct Tail {
    wanted: EventQuery,
    visible: VisibleSources,
    notices: Receiver<Notice>,
    readiness: Readiness,
    _permit: OwnedSemaphorePermit,
}

impl Tail {
    /// The next event to send; `None` when the stream ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let received = tokio::select! {
                received = self.notices.recv() => received,
                () = self.readiness.stopping() => return None,
            };
            match received {
                Ok(notice) if fits(&self.visible, &self.wanted, &notice) => return Some(arrival(&notice)),
                Ok(_) => {}
                Err(RecvError::Lagged(missed)) => {
                    return Some(
                        Event::default()
                            .event("lagged")
                            .data(format!("{{\"missed\":{missed}}}")),
                    );
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

impl TailParameters {
    fn into_query(self, state: &AdminState) -> ApiResult<EventQuery> {
        let mut query = filter::read(state, self.q.as_deref().unwrap_or_default())?;
        filter::both(&mut query.source, self.source.map(Into::into), "source")?;
        filter::both(&mut query.event_type, self.event_type, "type")?;
        filter::both(&mut query.event_id, self.event_id, "event_id")?;
        if is_seen_at_arrival(&query) {
            return Ok(query);
        }
        Err(ApiError::invalid_parameter(
            "a live tail shows events as they arrive, when only their source, type and id are known; remove the other \
             terms, or search with `GET events`",
        ))
    }
}

/// Whether a query uses only what is known about an event on arrival.
pub fn is_seen_at_arrival(query: &EventQuery) -> bool {
    let known = EventQuery {
        source: query.source.clone(),
        event_type: query.event_type.clone(),
        event_id: query.event_id.clone(),
        // Anything that arrives now is after a time in the past.
        since: query.since,
        ..EventQuery::default()
    };
    *query == known
}

/// A permit for another live tail.
pub fn permit(state: &AdminState) -> ApiResult<OwnedSemaphorePermit> {
    match state.streams.clone().try_acquire_owned() {
        Ok(permit) => Ok(permit),
        Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
            Err(ApiError::too_many_streams(STREAMS_MAX))
        }
    }
}

/// Whether an arrival matches, and the caller sees its source.
pub fn fits(visible: &VisibleSources, wanted: &EventQuery, notice: &Notice) -> bool {
    let is_source = wanted
        .source
        .as_ref()
        .is_none_or(|source| *source == notice.source);
    let is_id = wanted
        .event_id
        .as_deref()
        .is_none_or(|id| id == notice.event_id || id == notice.id.to_string());
    visible.sees(notice.source.as_str())
        && is_source
        && is_id
        && wanted.fits_type(notice.event_type.as_deref())
}

fn arrival(notice: &Notice) -> Event {
    let data = serde_json::to_string(notice).unwrap_or_default();
    Event::default()
        .event("arrival")
        .id(notice.id.to_string())
        .data(data)
}
