//! The rows that a replay writes: history, generations, new delivery rows, and their positions in lanes.

use std::collections::BTreeSet;

use futures_util::future::join4;
use hapax_core::store::{ReplayOrder, ReplayTarget};
use hapax_core::{Generation, Lane, Timestamp};
use uuid::Uuid;

use super::{Finished, Generations, Subject};
use crate::batch::Batch;
use crate::failure::{self, Failure};
use crate::lanes::{self, LaneName, LanePosition, Standing};
use crate::rows::{Class, lane_of, on_dead_code, uuid_of};
use crate::session::Session;

const INTO_HISTORY: &str = "
    UPDATE hapax.outcomes AS o SET is_current = false, holds = false
    FROM {n} WHERE o.bucket = {bucket} AND o.id = n.id AND o.destination = n.destination AND o.is_current";

const INSERT: &str = "INSERT INTO hapax.work {rows}";

const MOVE_LEDGER: &str = "
    UPDATE hapax.ledger AS l SET generation = n.generation
    FROM {n} WHERE l.bucket = {bucket} AND l.key = n.key";

const MOVE_EVENTS: &str = "
    UPDATE hapax.events AS e SET generation = n.generation
    FROM {n} WHERE e.bucket = {bucket} AND e.id = n.key";

/// All rows to be written for some orders.
#[derive(Default)]
pub(super) struct Again {
    /// New generations of identities, and of events.
    pub(super) ledger: Generations,
    pub(super) events: Generations,
    history: Vec<(i16, Uuid, String)>,
    rows: Vec<Row>,
    joining: Vec<(LanePosition, Standing)>,
    /// Dead deliveries that hold their lanes: they already have a position.
    holding: Vec<LanePosition>,
}

/// An unfinished delivery.
struct Row {
    bucket: i16,
    id: Uuid,
    destination: String,
    generation: i64,
    accepted_at: i64,
    idempotency_key: Uuid,
    lane: Option<Lane>,
    lane_order: Option<i64>,
    job: Option<Uuid>,
}

impl Row {
    fn place(&self) -> Option<LanePosition> {
        Some(LanePosition {
            lane: (self.destination.clone(), self.lane.as_ref()?.key.clone()),
            order: self.lane_order?,
            event_bucket: self.bucket,
            event: self.id,
        })
    }
}

impl Again {
    /// Makes a finished delivery unfinished again. Returns its generation.
    pub(super) fn put_back(
        &mut self,
        order: &ReplayOrder,
        subject: &Subject,
        delivery: Finished,
        forced: Option<Generation>,
    ) -> Generation {
        let earlier = delivery.row;
        self.history
            .push((earlier.bucket, earlier.id, earlier.destination.clone()));
        let (generation, idempotency_key) = match forced {
            Some(generation) => {
                let destination = earlier.destination.as_str().into();
                let key = subject.identity.idempotency_key(generation, &destination);
                (i64::from(generation.0), Uuid::from_bytes(*key.as_bytes()))
            }
            None => (earlier.generation, earlier.idempotency_key),
        };
        // A dead delivery that holds its lane never left it.
        let lane = match &order.to {
            Some(target) if !delivery.holds => target.lane.clone(),
            Some(_) | None => lane_of(earlier.lane, earlier.on_dead),
        };
        let row = Row {
            bucket: subject.bucket,
            id: subject.id,
            destination: earlier.destination,
            generation,
            accepted_at: subject.accepted_at,
            idempotency_key,
            lane_order: lane.as_ref().map(|_| earlier.lane_order.unwrap_or(subject.no)),
            lane,
            job: order.job.map(|job| uuid_of(job.0)),
        };
        if delivery.holds {
            self.holding.extend(row.place());
        } else {
            self.joining
                .extend(row.place().map(|place| (place, Standing::Waiting)));
        }
        self.rows.push(row);
        Generation(u32::try_from(generation).unwrap_or(u32::MAX))
    }

    /// Creates a delivery for a destination that the event never went to.
    pub(super) fn create(
        &mut self,
        order: &ReplayOrder,
        subject: &Subject,
        target: &ReplayTarget,
        generation: Generation,
    ) {
        let key = subject.identity.idempotency_key(generation, &target.destination);
        let row = Row {
            bucket: subject.bucket,
            id: subject.id,
            destination: target.destination.as_str().to_owned(),
            generation: i64::from(generation.0),
            accepted_at: subject.accepted_at,
            idempotency_key: Uuid::from_bytes(*key.as_bytes()),
            lane_order: target.lane.as_ref().map(|_| subject.no),
            lane: target.lane.clone(),
            job: order.job.map(|job| uuid_of(job.0)),
        };
        self.joining
            .extend(row.place().map(|place| (place, Standing::Waiting)));
        self.rows.push(row);
    }

    /// Writes the rows. Then the first delivery of each lane is due, unless another one keeps the turn.
    pub(super) async fn write(self, session: &Session, now: Timestamp) -> Result<(), Failure> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let history = Batch::in_buckets(self.history.iter().map(|row| row.0))
            .column("id", self.history.iter().map(|row| row.1))
            .column("destination", self.history.iter().map(|row| row.2.as_str()));
        // Pipelined: none of them reads what another writes.
        let (kept, identities, events, enqueued) = join4(
            session.write(INTO_HISTORY, &history),
            move_on(session, MOVE_LEDGER, &self.ledger),
            move_on(session, MOVE_EVENTS, &self.events),
            self.enqueue(session, now),
        )
        .await;
        failure::all(vec![kept, identities, events, enqueued])?;
        lanes::join(session, &self.joining).await?;
        lanes::stand(session, &self.holding, Standing::Waiting).await?;
        let joined = self.joining.iter().map(|(place, _)| place);
        let names: BTreeSet<LaneName> = joined
            .chain(&self.holding)
            .map(|place| place.lane.clone())
            .collect();
        lanes::promote(session, &names, now).await
    }

    async fn enqueue(&self, session: &Session, now: Timestamp) -> Result<(), Failure> {
        let (_, mut tokens) = session.take(self.rows.len()).await?;
        let rows = || self.rows.iter();
        let on_dead = |row: &Row| row.lane.as_ref().map(|lane| on_dead_code(lane.on_dead));
        let class = |row: &Row| {
            if row.lane.is_some() {
                Class::Waiting
            } else {
                Class::Fresh
            }
        };
        let batch = Batch::in_buckets(rows().map(|row| row.bucket))
            .column("id", rows().map(|row| row.id))
            .column("destination", rows().map(|row| row.destination.as_str()))
            .column("class", rows().map(|row| class(row).code()))
            .same("state", 0_i16)
            .same("wake_at", now.as_micros())
            .column("token", tokens.several(self.rows.len())?)
            .same("attempts", 0_i64)
            .same("lost", 0_i64)
            .column("generation", rows().map(|row| row.generation))
            .column("accepted_at", rows().map(|row| row.accepted_at))
            .column("idempotency_key", rows().map(|row| row.idempotency_key))
            .column(
                "lane",
                rows().map(|row| row.lane.as_ref().map(|lane| lane.key.as_str())),
            )
            .column("lane_order", rows().map(|row| row.lane_order))
            .column("on_dead", rows().map(on_dead))
            .column("replay", rows().map(|row| row.job));
        session.write(INSERT, &batch).await
    }
}

async fn move_on(session: &Session, text: &'static str, to: &Generations) -> Result<(), Failure> {
    let batch = Batch::in_buckets(to.keys().map(|(bucket, _)| *bucket))
        .column("key", to.keys().map(|(_, key)| *key))
        .column(
            "generation",
            to.values().map(|generation| i64::from(generation.0)),
        );
    session.write(text, &batch).await
}
