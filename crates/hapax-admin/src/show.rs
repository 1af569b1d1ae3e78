//! Converts stored data into the API's documents.

use std::collections::HashSet;

use hapax_core::store::{self, DeadGroup, EventQuery, EventRecord, EventSummary, Pause, ReplayJob};
use hapax_core::{DestinationId, EventId, EventStatus, Headers, IdOrigin, SourceName, StoredEvent};
use hapax_engine::{Coverage, ReplayPreview};

use super::sight::{self, HIDDEN, is_hidden};
use super::state::{AdminState, Settings};
use hapax_api::query;
use hapax_api::views::{
    AttemptView, BatchView, ConflictView, CoverageView, DeadGroupView, DeliveryStatus, DeliveryView,
    DuplicatesView, EventSummaryView, EventView, HeaderView, Intake, PauseView, ReplayJobView,
    ReplayPreviewView, TallyView,
};
use hapax_delivery::outbox::{instead_of, own_key};

/// What is needed to show deliveries: the names of destinations, and which ones are paused.
pub(super) struct Names<'a> {
    settings: &'a Settings,
    paused: HashSet<DestinationId>,
}

impl<'a> Names<'a> {
    /// The current names and pauses.
    pub(super) fn now(state: &AdminState, settings: &'a Settings) -> Self {
        let ports = state.engine.destinations();
        let paused = ports
            .into_iter()
            .filter(|port| port.paused.is_some())
            .map(|port| port.id)
            .collect();
        Self { settings, paused }
    }

    fn intake(&self, id: &DestinationId) -> Intake {
        if self.settings.by_id(id).is_none() || self.paused.contains(id) {
            Intake::Closed
        } else {
            Intake::Open
        }
    }

    pub(super) fn delivery(&self, view: &store::DeliveryView) -> DeliveryView {
        DeliveryView {
            event: view.event,
            destination: self.settings.name_of(&view.destination),
            destination_id: view.destination.to_string(),
            status: DeliveryStatus::of(view.state, view.error, self.intake(&view.destination)),
            generation: view.generation.0,
            idempotency_key: view.idempotency_key.to_string(),
            attempts: view.attempts,
            lost: view.lost,
            due_at: view.due_at,
            finished_at: view.finished_at,
            error: view.error.map(|class| class.to_string()),
            lane: view.lane.clone(),
            replay: view.replay.map(|job| job.to_string()),
        }
    }

    /// One delivery of an event, with the key that its attempts carry.
    fn delivery_of(&self, event: &StoredEvent, view: &store::DeliveryView) -> DeliveryView {
        let shown = self.delivery(view);
        DeliveryView {
            idempotency_key: own_key(event, view.generation).unwrap_or(shown.idempotency_key),
            ..shown
        }
    }

    /// A complete event.
    pub(super) fn event(&self, record: &EventRecord) -> EventView {
        let event = &record.event;
        EventView {
            id: event.id,
            source: event.source.clone(),
            scope: event.identity.scope.to_string(),
            event_id: event.identity.event_id.clone(),
            id_origin: IdOrigin::of(&event.identity.event_id),
            event_type: event.event_type.clone(),
            status: record.status,
            received_at: event.received_at,
            signed_at: event.signed_at,
            secret_index: event.secret_index,
            is_erased: event.headers.is_erased(),
            body_bytes: event.body.len() as u64,
            body_sha256: event.raw_hash.to_string(),
            headers: headers(&event.source, &event.headers),
            batch: event.batch.map(|(id, index)| BatchView { id, index }),
            deliveries: record
                .deliveries
                .iter()
                .map(|view| self.delivery_of(event, view))
                .collect(),
            attempts: record.attempts.iter().map(|view| self.attempt(view)).collect(),
            duplicates: record.duplicates.as_ref().map(duplicates),
            conflicts: record.conflicts.iter().map(conflict).collect(),
            same_body_as: record.same_body_as,
            identity: None,
            verification: None,
        }
    }

    fn attempt(&self, view: &store::AttemptView) -> AttemptView {
        let attempt = &view.attempt;
        AttemptView {
            destination: self.settings.name_of(&view.destination),
            generation: view.generation.0,
            started_at: attempt.started_at,
            duration_ms: attempt.duration_ms,
            status: attempt.status,
            error: attempt.error.map(|class| class.to_string()),
            message: attempt.message.clone(),
            excerpt: attempt.excerpt.clone(),
        }
    }
}

/// An event in a list.
pub(super) fn summary(event: EventSummary) -> EventSummaryView {
    EventSummaryView {
        id: event.id,
        source: event.source,
        id_origin: IdOrigin::of(&event.event_id),
        event_id: event.event_id,
        event_type: event.event_type,
        status: event.status,
        received_at: event.received_at,
        body_bytes: event.body_bytes,
        duplicates: event.duplicates,
    }
}

/// How much of the store a search covered.
pub(super) const fn coverage(coverage: Coverage) -> CoverageView {
    match coverage {
        Coverage::Everything => CoverageView::Everything,
        Coverage::IndexedSince(since) => CoverageView::Indexed { since },
        Coverage::Newest { bodies_read, is_cut } => CoverageView::Newest { bodies_read, is_cut },
    }
}

/// Dead letters with the same destination and error.
pub(super) fn dead_group(settings: &Settings, group: &DeadGroup) -> DeadGroupView {
    let query = EventQuery {
        // Only dead deliveries have an error; without one, the query must name the status.
        status: group.error.is_none().then_some(EventStatus::Dead),
        to: Some(settings.name_of(&group.destination).as_str().into()),
        error: group.error,
        ..EventQuery::default()
    };
    DeadGroupView {
        destination: settings.name_of(&group.destination),
        destination_id: group.destination.to_string(),
        error: group.error.map(|class| class.to_string()),
        count: group.count,
        first_at: group.first_at,
        last_at: group.last_at,
        last_event: group.last,
        q: query::print(&query),
    }
}

pub(super) fn pause(pause: Pause) -> PauseView {
    PauseView {
        destination_id: pause.destination.to_string(),
        at: pause.at,
        by: pause.by,
        why: pause.why,
    }
}

/// A bulk replay. Values that it searches for in redacted fields are redacted, too.
pub(super) fn job(settings: &Settings, mut job: ReplayJob) -> ReplayJobView {
    sight::hide_values(settings, &mut job.query);
    ReplayJobView {
        id: job.id.to_string(),
        state: job.state,
        q: query::print(&job.query),
        query: job.query,
        mode: job.mode,
        to: job.to.map(|destination| destination.to_string()),
        rate_per_second: job.rate_per_second,
        as_of: job.as_of,
        who: job.who,
        why: job.why,
        tally: TallyView {
            matched: job.tally.matched,
            replayed: job.tally.replayed,
            unfinished: job.tally.unfinished,
            skipped: job.tally.skipped,
            bodies_read: job.tally.bodies_read,
        },
    }
}

/// A preview of a bulk replay.
pub(super) fn preview(preview: ReplayPreview) -> ReplayPreviewView {
    let samples = preview.samples.into_iter().map(summary).collect();
    ReplayPreviewView {
        dry_run: true,
        matched: preview.matched,
        samples,
        coverage: coverage(preview.coverage),
    }
}

/// The detail of a 404 for an event.
pub(super) fn no_event(id: EventId) -> String {
    format!("there is no event {id}, or its payload has expired (payload_retention of the source)")
}

fn headers(source: &SourceName, headers: &Headers) -> Vec<HeaderView> {
    let shown = headers.iter().map(|(name, value)| {
        let instead = is_hidden(name).then(|| HIDDEN.to_owned());
        let instead = instead.or_else(|| instead_of(source, name, value));
        HeaderView {
            name: name.to_owned(),
            value: instead.unwrap_or_else(|| String::from_utf8_lossy(value).into_owned()),
        }
    });
    shown.collect()
}

fn duplicates(tally: &store::DuplicateTally) -> DuplicatesView {
    DuplicatesView {
        count: tally.count,
        last_at: tally.last_at,
        gaps_ms: tally.gaps_ms.clone(),
    }
}

fn conflict(view: &store::ConflictView) -> ConflictView {
    ConflictView {
        body_sha256: view.raw_hash.to_string(),
        seen: view.seen,
        received_at: view.received_at,
        body_bytes: view.body_bytes,
        released_as: view.released_as,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_headers_are_not_shown() {
        let packed = Headers::pack([
            ("Authorization", &b"Bearer x"[..]),
            ("cookie", b"a=b"),
            ("x-id", b"\xff1"),
        ]);
        let shown = headers(&"stripe".into(), &packed);
        let shown: Vec<_> = shown.into_iter().map(|header| header.value).collect();
        assert_eq!(shown, ["***", "***", "\u{fffd}1"]);
    }
}
