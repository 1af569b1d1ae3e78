//! `GET /events/live`: arrivals for the events page, gathered into few messages.
//!
//! A page cannot draw thousands of rows a second, and a task that wakes for each of them would slow the accepts that it
//! watches. So this one sleeps, and takes what has come meanwhile in one go.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::Query;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt as _};
use hapax_core::store::EventQuery;
use hapax_engine::Notice;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::viewer::Viewer;
use hapax_admin::access::{Narrowed, StillAdmitted, VisibleSources};
use hapax_admin::api_error::{ApiError, ApiResult};
use hapax_admin::filter;
use hapax_admin::readiness::Readiness;
use hapax_admin::stream::{KEEP_ALIVE, fits, is_seen_at_arrival, permit};

/// How often a page hears of arrivals, at most.
const BATCH_EVERY: Duration = Duration::from_millis(250);
/// Arrivals in one message, the newest; as many rows as a page keeps.
const BATCH_MAX: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LiveParams {
    q: String,
}

/// The stream; it ends soon after its viewer has signed out, wherever that was.
pub(super) async fn tail(
    _: Viewer,
    Narrowed(state): Narrowed,
    admitted: StillAdmitted,
    Query(asked): Query<LiveParams>,
) -> ApiResult<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let wanted = state
        .visible
        .narrow(filter::read(&state.settings.load(), &asked.q)?)?;
    if !is_seen_at_arrival(&wanted) {
        return Err(ApiError::invalid_parameter(NOT_LIVE));
    }
    let mut ticks = interval(BATCH_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let tail = Tail {
        wanted,
        visible: state.visible.clone(),
        notices: state.engine.tail(),
        ticks,
        _permit: permit(&state)?,
        readiness: state.readiness,
    };
    let stream = futures_util::stream::unfold(tail, |mut tail| async {
        let event = tail.next().await?;
        Some((Ok(event), tail))
    });
    let stream = stream.take_until(admitted.ends());
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Why a search is not live.
pub(super) const NOT_LIVE: &str =
    "the search asks for more than is known when an event arrives: its source, type and id";

struct Tail {
    wanted: EventQuery,
    visible: VisibleSources,
    notices: Receiver<Notice>,
    ticks: Interval,
    readiness: Readiness,
    _permit: OwnedSemaphorePermit,
}

/// What came since the last message.
#[derive(Debug, Default, Serialize)]
struct Batch {
    /// The newest, oldest first.
    events: Vec<Notice>,
    /// Those that came too and found no room here.
    more: u64,
    /// Those that were gone before they were looked at; no one knows whether they fit.
    missed: u64,
}

impl Tail {
    /// The next message; none when the stream is over.
    async fn next(&mut self) -> Option<Event> {
        loop {
            tokio::select! {
                _ = self.ticks.tick() => {}
                () = self.readiness.stopping() => return None,
            }
            let batch = self.gather()?;
            if !batch.is_empty() {
                return Event::default().event("arrivals").json_data(batch).ok();
            }
        }
    }

    fn gather(&mut self) -> Option<Batch> {
        let mut batch = Batch::default();
        loop {
            match self.notices.try_recv() {
                Ok(notice) if fits(&self.visible, &self.wanted, &notice) => batch.events.push(notice),
                Ok(_) => {}
                Err(TryRecvError::Lagged(missed)) => batch.missed += missed,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Closed) => return None,
            }
        }
        let over = batch.events.len().saturating_sub(BATCH_MAX);
        batch.events.drain(..over);
        batch.more = over as u64;
        Some(batch)
    }
}

impl Batch {
    const fn is_empty(&self) -> bool {
        self.events.is_empty() && self.missed == 0
    }
}
