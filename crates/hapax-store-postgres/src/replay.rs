//! Replaying finished deliveries. The earlier outcome stays as history.
//!
//! All orders of a call are processed together: their lanes stay locked for a fixed number of statements, regardless of
//! the number of orders.

mod again;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hapax_core::store::{ReplayJobId, ReplayMode, ReplayOrder, Replayed};
use hapax_core::{DeliveryState, ErrorClass, Generation, Identity, Timestamp};
use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::lanes;
use crate::outcome::{WorkRow, work_row};
use crate::rows::{bucket_of, erased_headers, error_at, generation_at, state_of, uuid_of};
use crate::session::Session;
use again::Again;

/// Events replayed in one transaction.
const TOGETHER_MAX: usize = 128;

// If a purge locks the event first, the purge wins and the event is not found. An erased event is not found either.
const LOCK_EVENTS: &str = concat!(
    "SELECT e.id, e.bucket, e.no, e.scope, e.event_id, e.generation, e.accepted_at
     FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
     WHERE e.headers <> ",
    erased_headers!(),
    " ORDER BY e.bucket + 0, e.id FOR UPDATE OF e"
);

const LOCK_LEDGER: &str = "
    SELECT l.key, l.bucket, l.generation, l.forgotten FROM {n}
    JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
    JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = e.key
    ORDER BY l.bucket + 0, l.key FOR UPDATE OF l";

// Lanes of finished and unfinished deliveries alike: one may become the other before the lanes are locked.
const LANES: &str = "
    SELECT w.destination, w.lane FROM {n}
    JOIN hapax.work w ON w.bucket = {bucket} AND w.id = n.id WHERE w.lane IS NOT NULL
    UNION
    SELECT o.destination, o.lane FROM {n}
    JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id WHERE o.lane IS NOT NULL AND o.is_current";

const UNFINISHED: &str = "
    SELECT w.id, w.destination FROM {n} JOIN hapax.work w ON w.bucket = {bucket} AND w.id = n.id";

const FINISHED: &str = concat!(
    "SELECT ",
    work_row!(),
    ", w.state, w.holds, w.error,
      EXISTS (SELECT FROM hapax.outcomes b WHERE b.bucket = {bucket} AND b.id = n.id
                AND b.destination = w.destination AND b.replay = n.job)
      FROM {n} JOIN hapax.outcomes w ON w.bucket = {bucket} AND w.id = n.id AND w.is_current"
);

/// Divides the orders into parts that are written one after another; each part has an event once.
pub(crate) fn parts(orders: Vec<ReplayOrder>) -> Vec<Vec<ReplayOrder>> {
    let mut parts: Vec<Vec<ReplayOrder>> = Vec::new();
    let mut events = BTreeSet::new();
    for order in orders {
        if events.len() == TOGETHER_MAX || events.contains(&order.event) || parts.is_empty() {
            parts.push(Vec::new());
            events.clear();
        }
        events.insert(order.event);
        if let Some(part) = parts.last_mut() {
            part.push(order);
        }
    }
    parts
}

/// Replays events, each evaluated independently and none of them twice.
pub(crate) async fn replay(session: &Session, orders: &[ReplayOrder]) -> Result<Vec<Replayed>, Failure> {
    let now = session.begin_at().await?;
    let mut found = lock(session, orders, now).await?;
    found.look(session, orders).await?;
    let mut again = Again::default();
    let answers = orders
        .iter()
        .map(|order| found.decide(order, &mut again))
        .collect();
    again.write(session, now).await?;
    session.commit().await?;
    Ok(answers)
}

/// The events and deliveries that the orders concern.
#[derive(Default)]
struct Found {
    subjects: HashMap<Uuid, Subject>,
    /// Ledger entries of events whose replay is forced.
    ledger: HashMap<Uuid, Entry>,
    unfinished: HashMap<Uuid, Vec<String>>,
    finished: HashMap<Uuid, Vec<Finished>>,
}

/// The parts of an event that a replay needs.
struct Subject {
    bucket: i16,
    id: Uuid,
    /// Its acceptance number.
    no: i64,
    identity: Identity,
    generation: Generation,
    accepted_at: i64,
}

/// The ledger's generation, and whether the entry is a tombstone.
struct Entry {
    bucket: i16,
    generation: Generation,
    is_forgotten: bool,
}

/// A finished delivery.
struct Finished {
    row: WorkRow,
    state: DeliveryState,
    error: Option<ErrorClass>,
    /// Whether it is dead and holds its lane.
    holds: bool,
    /// Whether the job that asks has already replayed it.
    was_replayed: bool,
}

fn ids<'o>(orders: impl Iterator<Item = &'o ReplayOrder> + Clone) -> Batch<'o> {
    Batch::in_buckets(orders.clone().map(|order| bucket_of(order.event)))
        .column("id", orders.map(|order| uuid_of(order.event)))
}

/// Locks everything that the orders may touch, in the global order.
async fn lock(session: &Session, orders: &[ReplayOrder], now: Timestamp) -> Result<Found, Failure> {
    let mut found = Found::default();
    for row in &session.over(LOCK_EVENTS, &ids(orders.iter())).await? {
        let id = row.try_get(0)?;
        let subject = Subject {
            bucket: row.try_get(1)?,
            id,
            no: row.try_get(2)?,
            identity: Identity::new(row.try_get::<_, &str>(3)?, row.try_get::<_, String>(4)?),
            generation: generation_at(row, 5)?,
            accepted_at: row.try_get(6)?,
        };
        found.subjects.insert(id, subject);
    }
    let forced = orders.iter().filter(|order| order.mode == ReplayMode::Force);
    for row in &session.over(LOCK_LEDGER, &ids(forced)).await? {
        let entry = Entry {
            bucket: row.try_get(1)?,
            generation: generation_at(row, 2)?,
            is_forgotten: row.try_get(3)?,
        };
        found.ledger.insert(row.try_get(0)?, entry);
    }
    let mut names = lanes::names(&session.over(LANES, &ids(orders.iter())).await?)?;
    names.extend(orders.iter().filter_map(|order| {
        let target = order.to.as_ref()?;
        let lane = target.lane.as_ref()?;
        Some((target.destination.as_str().to_owned(), lane.key.clone()))
    }));
    lanes::lock(session, &names, now).await?;
    Ok(found)
}

impl Found {
    /// Reads the deliveries, unfinished ones first: one that ends in between is then found among the finished.
    async fn look(&mut self, session: &Session, orders: &[ReplayOrder]) -> Result<(), Failure> {
        for row in &session.over(UNFINISHED, &ids(orders.iter())).await? {
            self.unfinished
                .entry(row.try_get(0)?)
                .or_default()
                .push(row.try_get(1)?);
        }
        let asked = ids(orders.iter()).column(
            "job",
            orders.iter().map(|order| order.job.map(|job| uuid_of(job.0))),
        );
        for row in &session.over(FINISHED, &asked).await? {
            let finished = Finished {
                row: WorkRow::read(row)?,
                state: state_of(row.try_get(13)?)?,
                holds: row.try_get(14)?,
                error: error_at(row, 15)?,
                was_replayed: row.try_get(16)?,
            };
            self.finished.entry(finished.row.id).or_default().push(finished);
        }
        for finished in self.finished.values_mut() {
            finished.sort_unstable_by(|one, other| one.row.destination.cmp(&other.row.destination));
        }
        Ok(())
    }

    /// Decides one order and adds to the rows to be written.
    fn decide(&mut self, order: &ReplayOrder, again: &mut Again) -> Replayed {
        let id = uuid_of(order.event);
        let Some(subject) = self.subjects.remove(&id) else {
            return Replayed::NotFound;
        };
        let covers = |destination: &str| {
            let to = order.to.as_ref();
            to.is_none_or(|target| target.destination.as_str() == destination)
        };
        let mut unfinished = self.unfinished.get(&id).into_iter().flatten();
        if unfinished.any(|destination| covers(destination)) {
            return Replayed::Unfinished;
        }
        let mut covered = self.finished.remove(&id).unwrap_or_default();
        covered.retain(|delivery| covers(&delivery.row.destination));
        let newcomer = order.to.as_ref().filter(|_| covered.is_empty());
        let replays =
            |delivery: &Finished| -> Option<ReplayJobId> { order.job.filter(|_| delivery.was_replayed) };
        covered.retain(|delivery| order.chooses(delivery.state, delivery.error, replays(delivery)));
        if covered.is_empty() && newcomer.is_none() {
            return Replayed::Nothing;
        }
        let forced = match order.mode {
            ReplayMode::Force => Some(self.next_generation(&subject, again)),
            ReplayMode::Failed | ReplayMode::All | ReplayMode::Held => None,
        };
        let mut generation = forced.unwrap_or(subject.generation);
        let deliveries = covered.len() + usize::from(newcomer.is_some());
        for delivery in covered {
            generation = again.put_back(order, &subject, delivery, forced);
        }
        if let Some(target) = newcomer {
            again.create(order, &subject, target, generation);
        }
        Replayed::Again {
            deliveries: u32::try_from(deliveries).unwrap_or(u32::MAX),
            generation,
        }
    }

    /// A generation of the identity that no event has had. From a tombstone it takes the one meant for the next event,
    /// and the tombstone moves on.
    fn next_generation(&mut self, subject: &Subject, again: &mut Again) -> Generation {
        let key = crate::rows::key_uuid(subject.identity.key());
        let taken = match self.ledger.get_mut(&key) {
            Some(entry) => {
                let next = entry.generation.next();
                let taken = if entry.is_forgotten {
                    entry.generation
                } else {
                    next
                };
                entry.generation = next;
                again.ledger.insert((entry.bucket, key), next);
                taken
            }
            None => subject.generation.next(),
        };
        again.events.insert((subject.bucket, subject.id), taken);
        taken
    }
}

/// Generations by bucket and key.
type Generations = BTreeMap<(i16, Uuid), Generation>;
