//! The seed's decisions about a run: how many of everything, and how bad it gets.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Backoff, DestinationId, Headers, OnDead};
use hapax_engine::{Destination, Limits, OnConflict, OrderBy, Route, Routing, SameBody};
use hapax_store_laws::model::Restart;

use crate::random::Dice;

pub(super) const SOURCE: &str = "shop";
/// Applies by idempotency key.
pub(super) const BY_KEY: &str = "http";
/// Applies in one transaction with its inbox.
pub(super) const BY_INBOX: &str = "sql";
/// Applies by idempotency key, in order.
pub const IN_ORDER: &str = "ordered";

/// The default lease: leases of dead processes are reclaimed long before it ends.
const LONG_LEASE: Duration = Duration::from_secs(60);
/// Percentage of runs with such leases. In the others, leases end all the time.
const LONG_LEASE_PERCENT: u64 = 40;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The parameters of one run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Processes on the store.
    pub replicas: usize,
    /// What a start does to the leases of others.
    pub leases_at_start: Restart,
    /// Events sent.
    pub events: u64,
    /// The most requests per event.
    pub times_max: u64,
    /// Lanes for the events; with none, nothing keeps order.
    pub lanes: u64,
    /// How long senders start to send.
    pub sending: Duration,
    /// How long faults are injected.
    pub trouble: Duration,
    /// Number of faults.
    pub faults: u64,
    /// Percentage of messages lost.
    pub loss_percent: u64,
    /// Percentage of attempts that a destination fails.
    pub failure_percent: u64,
    /// Percentage of attempts that are slow.
    pub slow_percent: u64,
    pub lease: Duration,
    /// An attempt is aborted after this long.
    pub deadline: Duration,
    /// Concurrent attempts per destination and process.
    pub concurrency: u32,
    pub limits: Limits,
}

impl Settings {
    /// Draws the settings of a run.
    pub fn draw(dice: &Dice) -> Self {
        let replicas = dice.between(1, 4) as usize;
        // Only a store with a single process can know that its leases belong to no one.
        let leases_at_start = if replicas == 1 && dice.chance(50) {
            Restart::VoidsLeases
        } else {
            Restart::KeepsLeases
        };
        Self {
            replicas,
            leases_at_start,
            events: dice.between(4, 20),
            times_max: dice.between(1, 5),
            lanes: dice.between(0, 2),
            sending: dice.time(SECOND, 10 * SECOND),
            trouble: dice.time(10 * SECOND, 30 * SECOND),
            faults: dice.between(0, 16),
            loss_percent: dice.between(0, 6),
            failure_percent: dice.between(0, 30),
            slow_percent: dice.between(0, 40),
            lease: if dice.chance(LONG_LEASE_PERCENT) {
                LONG_LEASE
            } else {
                dice.time(SECOND, 4 * SECOND)
            },
            deadline: dice.time(SECOND, 6 * SECOND),
            concurrency: dice.between(1, 4) as u32,
            limits: Limits {
                accept_in_flight: dice.between(1, 3) as usize,
                accept_batch: dice.between(1, 8) as usize,
                // Most batches are small: with more, none would be full.
                accept_full: 2,
                seen_for: dice.time(Duration::ZERO, 10 * SECOND),
                lease_batch: dice.between(1, 8) as u32,
                finish_batch: dice.between(1, 8) as usize,
                ..Limits::default()
            },
        }
    }

    /// Whether leases outlast the longest trouble with the store.
    pub fn has_long_leases(&self) -> bool {
        self.lease == LONG_LEASE
    }

    pub fn routing(&self) -> Routing {
        let ids = self.destinations();
        let destinations = ids.iter().map(|id| (id.clone(), self.destination(id)));
        let route = Route {
            scope: SOURCE.into(),
            deliver_to: ids.clone(),
            ledger_window: 30 * DAY,
            payload_retention: 14 * DAY,
            dead_retention: 30 * DAY,
            rate: None,
            id_is_signed: true,
            same_body: SameBody::Flag,
            indexed: Vec::new(),
            // Derived from an earlier draw: an additional draw would change the run of every seed.
            on_conflict: if self.events.is_multiple_of(2) {
                OnConflict::Accept
            } else {
                OnConflict::Keep
            },
        };
        Routing {
            destinations: destinations.collect(),
            sources: HashMap::from([(SOURCE.into(), route)]),
        }
    }

    /// The destinations of every event.
    pub fn destinations(&self) -> Vec<DestinationId> {
        let mut ids = vec![BY_KEY.into(), BY_INBOX.into()];
        if self.lanes > 0 {
            ids.push(IN_ORDER.into());
        }
        ids
    }

    fn destination(&self, id: &DestinationId) -> Destination {
        let order_by = (id.as_str() == IN_ORDER).then(|| Arc::new(ByLane) as Arc<dyn OrderBy>);
        Destination {
            id: id.clone(),
            events: Vec::new(),
            concurrency: self.concurrency,
            rate: None,
            // Failures never make a delivery dead here: only three lost leases can, and those are counted.
            attempts_max: u32::MAX,
            backoff: Backoff {
                first: 100 * MILLISECOND,
                cap: 2 * SECOND,
            },
            lease: self.lease,
            deadline: self.deadline,
            order_by,
            on_dead: OnDead::Hold,
            remembers: None,
        }
    }
}

#[derive(Debug)]
struct ByLane;

impl OrderBy for ByLane {
    fn key(&self, headers: &Headers, _: &[u8]) -> Option<String> {
        let lane = headers.get("lane")?;
        Some(String::from_utf8_lossy(lane).into_owned())
    }
}
