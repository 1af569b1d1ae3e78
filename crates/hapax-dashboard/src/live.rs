//! `GET /events/live`: arrivals for the events page, batched into few messages.
//!
//! A page cannot draw thousands of rows a second, and a task that wakes for each arrival would slow down the accept
//! path that it watches. So this task sleeps, and takes all arrivals since the last time in one go.

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
use hapax_admin::access::VisibleSources;
use hapax_admin::admission::{Narrowed, StillAdmitted};
use hapax_admin::api_error::{ApiError, ApiResult};
use hapax_admin::filter;
use hapax_admin::readiness::Readiness;
use hapax_admin::stream::{KEEP_ALIVE, fits, is_seen_at_arrival, permit};

/// Minimum time between messages to a page.
const BATCH_EVERY: Duration = Duration::from_millis(250);
/// Maximum number of arrivals in one message, newest kept: as many as a page has rows.
const BATCH_MAX: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LiveParams {
    q: String,
}

/// The stream of arrivals. It ends soon after the viewer signs out on any replica.
pub(super) async fn tail(
    _: Viewer,
    Narrowed(state): Narrowed,
    admitted: StillAdmitted,
    Query(asked): Query<LiveParams>,
) -> ApiResult<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let wanted = state.visible.narrow(filter::read(&state, &asked.q)?)?;
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

/// Why a search cannot be live.
pub(super) const NOT_LIVE: &str =
    "the search uses more than source, type and id, which are all that is known when an event arrives";

struct Tail {
    wanted: EventQuery,
    visible: VisibleSources,
    notices: Receiver<Notice>,
    ticks: Interval,
    readiness: Readiness,
    _permit: OwnedSemaphorePermit,
}

/// The arrivals since the last message.
#[derive(Debug, Default, Serialize)]
struct Batch {
    /// The newest arrivals, oldest first.
    events: Vec<Notice>,
    /// The number of further arrivals that match but exceed the limit.
    more: u64,
    /// The number of arrivals that were dropped before they were read; they may or may not have matched.
    missed: u64,
}

impl Tail {
    /// The next message; `None` when the stream ends.
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
