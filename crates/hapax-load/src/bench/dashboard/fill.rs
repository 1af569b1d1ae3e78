//! A store that has been in use for a while: events of several sources, most of them delivered, some dead, some queued,
//! with duplicates, conflicts, traffic and an audit trail.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use hapax_core::delivery::FirstLease;
use hapax_core::store::{
    AcceptRequest, AuditEntry, Claim, ConflictingBody, DuplicateNote, Pause, Report, Subject, TimeRange,
    Traffic, TrafficRow,
};
use hapax_core::{
    Attempt, AttemptOutcome, Backend, BodyHash, Clock as _, ErrorClass, EventId, EventIds, Headers, Hold,
    Identity, NewDelivery, NewEvent, Owner, SystemClock, SystemRandom,
};

use hapax_terminal::progress::Progress;

/// Sources; the last one sends almost nothing.
pub(in crate::bench) const SOURCES: [&str; 4] = ["stripe", "github", "shopify", "acme"];
/// Destination of most events.
pub(in crate::bench) const WORKING: &str = "billing";
/// Destination of queued deliveries.
pub(in crate::bench) const PAUSED: &str = "ledger";

const RARE_TYPE: &str = "invoice.voided";
const TYPES: [&str; 6] = [
    "invoice.paid",
    "invoice.payment_failed",
    "charge.refunded",
    "customer.updated",
    "push",
    "orders/create",
];
const BATCH: u64 = 2_048;
const OWNER: Owner = Owner(1);
const LEASE: Duration = Duration::from_secs(3_600);
const KEPT_FOR: Duration = Duration::from_secs(30 * 86_400);
const AUDIT_ENTRIES: u64 = 2_000;
/// Approximate size of each body, typical for webhooks.
const BODY_BYTES: usize = 1_024;

/// Values that pages are requested with.
#[derive(Clone, Debug, Default)]
pub(in crate::bench) struct Landmarks {
    /// An event that was delivered.
    pub(super) delivered: Option<EventId>,
    /// An event with a dead delivery.
    pub(super) dead: Option<EventId>,
    /// An event with a conflict.
    pub(super) conflicting: Option<EventId>,
    /// The provider's id of an event in the middle.
    pub(super) event_id: String,
    /// An order in the body of one of the newest events.
    pub(super) order: String,
}

pub(super) async fn run(store: &dyn Backend, count: u64) -> anyhow::Result<Landmarks> {
    let progress = Progress::new(count);
    progress.say(format!("storing {count} events"));
    let mut filling = Filling::begin(store).await?;
    while filling.count < count {
        filling.add(store, BATCH.min(count - filling.count)).await?;
        progress.set(filling.count);
    }
    let landmarks = filling.landmarks(store).await?;
    progress.end();
    Ok(landmarks)
}

/// Fills a store in parts.
pub(in crate::bench) struct Filling {
    maker: Maker,
    landmarks: Landmarks,
    /// Events added so far; each is made from its number.
    count: u64,
}

impl Filling {
    /// Pauses the destination of the queued deliveries, and writes the audit trail.
    pub(in crate::bench) async fn begin(store: &dyn Backend) -> anyhow::Result<Self> {
        let clock = SystemClock::default();
        let pause = Pause {
            destination: PAUSED.into(),
            at: clock.now(),
            by: "bench".to_owned(),
            why: "the dashboard shows the backlog, too".to_owned(),
        };
        store.pause(pause).await?;
        for number in 0..AUDIT_ENTRIES {
            let entry = AuditEntry {
                who: "bench".to_owned(),
                action: "replay".to_owned(),
                subject: format!("{number}"),
                detail: "only failed deliveries; created by the benchmark".to_owned(),
            };
            store.record(entry).await?;
        }
        Ok(Self {
            maker: Maker {
                ids: EventIds::default(),
                clock,
                random: SystemRandom::new(),
            },
            landmarks: Landmarks::default(),
            count: 0,
        })
    }

    /// Adds events, in batches.
    pub(in crate::bench) async fn add(&mut self, store: &dyn Backend, count: u64) -> anyhow::Result<()> {
        let end = self.count + count;
        while self.count < end {
            let last = (self.count + BATCH).min(end);
            self.maker
                .batch(store, self.count..last, &mut self.landmarks)
                .await?;
            self.count = last;
        }
        Ok(())
    }

    /// Fills the charts up to now; returns what to look for among the events so far.
    pub(in crate::bench) async fn landmarks(&self, store: &dyn Backend) -> anyhow::Result<Landmarks> {
        traffic(store, self.maker.clock.now()).await?;
        Ok(Landmarks {
            event_id: event_id(self.count / 2),
            order: order(self.count.saturating_sub(1)),
            ..self.landmarks.clone()
        })
    }
}

struct Maker {
    ids: EventIds,
    clock: SystemClock,
    random: SystemRandom,
}

impl Maker {
    async fn batch(
        &self,
        store: &dyn Backend,
        numbers: std::ops::Range<u64>,
        landmarks: &mut Landmarks,
    ) -> anyhow::Result<()> {
        let events: Vec<NewEvent> = numbers.clone().map(|number| self.event(number)).collect();
        let requests = events.iter().map(|event| AcceptRequest {
            events: vec![event.clone()],
        });
        let answers = store.accept(requests.collect()).await;
        let mut reports = Vec::new();
        let mut duplicates = Vec::new();
        let mut other_bodies = Vec::new();
        for ((number, event), answer) in numbers.zip(&events).zip(answers) {
            let claims = answer.context("the store refused an event")?;
            reports.extend(
                claims
                    .first()
                    .and_then(|claim| report(number, event, claim, landmarks)),
            );
            if number % 50 == 1 {
                duplicates.push(self.duplicates(number, event));
            }
            if number % 1_000 == 2 {
                landmarks.conflicting = Some(event.id);
                other_bodies.push(other_body(event));
            }
        }
        store.finish(reports).await?;
        store.note_duplicates(duplicates).await?;
        for kept in store.record_conflicts(other_bodies).await {
            kept.context("the store refused a conflict")?;
        }
        Ok(())
    }

    fn event(&self, number: u64) -> NewEvent {
        let now = self.clock.now();
        let source = match number % 1_000 {
            _ if number < 10 => SOURCES[3],
            0..=599 => SOURCES[0],
            600..=849 => SOURCES[1],
            _ => SOURCES[2],
        };
        let identity = Identity::new(source, event_id(number));
        let key = identity.key();
        let body = body(number);
        NewEvent {
            id: self.ids.next(now, key, &self.random),
            key,
            source: source.into(),
            event_type: Some(event_type(number).to_owned()),
            received_at: now,
            signed_at: Some(now),
            secret_index: Some(0),
            raw_hash: BodyHash::of(&body),
            content_hash: None,
            headers: Headers::default(),
            body,
            batch: None,
            ledger_until: now.plus(KEPT_FOR),
            indexed: Vec::new(),
            deliveries: deliveries(number),
            identity,
            claimed_body: None,
        }
    }

    fn duplicates(&self, number: u64, event: &NewEvent) -> DuplicateNote {
        DuplicateNote {
            key: event.key,
            count: 1 + number % 7,
            last_at: self.clock.now(),
            gaps_ms: vec![1_000, 60_000, 3_600_000],
        }
    }
}

/// One in twenty events has no destination, one in fifty is queued, the others are delivered at once.
fn deliveries(number: u64) -> Vec<NewDelivery> {
    match number {
        number if number % 20 == 0 => Vec::new(),
        number if number % 50 == 3 => vec![NewDelivery::to(PAUSED)],
        _ => vec![NewDelivery {
            first_lease: Some(FirstLease {
                owner: OWNER,
                lease_for: LEASE,
            }),
            ..NewDelivery::to(WORKING)
        }],
    }
}

/// The result of a leased delivery: one in a hundred is dead.
fn report(number: u64, event: &NewEvent, claim: &Claim, landmarks: &mut Landmarks) -> Option<Report> {
    let Claim::New { tokens, .. } = claim else {
        return None;
    };
    let handed = tokens.first().copied().flatten()?;
    let error = match number % 300 {
        7 => Some(ErrorClass::Timeout),
        107 => Some(ErrorClass::Status),
        207 => Some(ErrorClass::Connect),
        _ => None,
    };
    let place = match error {
        Some(_) => &mut landmarks.dead,
        None => &mut landmarks.delivered,
    };
    *place = Some(event.id);
    Some(Report {
        hold: Hold {
            event: event.id,
            destination: WORKING.into(),
            token: handed.token,
        },
        attempt: Some(Attempt {
            started_at: event.received_at,
            duration_ms: 20 + (number % 200) as u32,
            status: Some(if error.is_some() { 500 } else { 200 }),
            excerpt: "{\"ok\":true}".to_owned(),
            error,
            message: error.map(|error| format!("it failed: {error}")),
        }),
        outcome: error.map_or(AttemptOutcome::Completed, |reason| AttemptOutcome::Dead {
            reason,
        }),
    })
}

fn other_body(event: &NewEvent) -> ConflictingBody {
    let body = Bytes::from_static(b"{\"amount\":2}");
    ConflictingBody {
        key: event.key,
        first: event.id,
        source: event.source.clone(),
        raw_hash: BodyHash::of(&body),
        received_at: event.received_at,
        headers: Headers::default(),
        body,
    }
}

fn event_id(number: u64) -> String {
    // Spread over the key space like random ids, but derived from the number.
    format!("evt_{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn order(number: u64) -> String {
    format!("ord_{number}")
}

fn event_type(number: u64) -> &'static str {
    if number < 10 {
        return RARE_TYPE;
    }
    TYPES[(number % TYPES.len() as u64) as usize]
}

fn body(number: u64) -> Bytes {
    let head = format!(
        "{{\"id\":\"{}\",\"type\":\"{}\",\"data\":{{\"object\":{{\"id\":\"{}\",\"amount\":{number},\"note\":\"",
        event_id(number),
        event_type(number),
        order(number),
    );
    let tail = "\"}}}";
    let filling = BODY_BYTES.saturating_sub(head.len() + tail.len());
    Bytes::from(format!("{head}{}{tail}", "x".repeat(filling)))
}

/// Fills every slot of every chart.
async fn traffic(store: &dyn Backend, now: hapax_core::Timestamp) -> anyhow::Result<()> {
    for span in TimeRange::ALL {
        let subjects = SOURCES
            .iter()
            .map(|source| Subject::Source((*source).into()))
            .chain([WORKING, PAUSED].map(|destination| Subject::Destination(destination.into())));
        let rows = subjects.flat_map(|subject| {
            (0..span.slots()).map(move |slot| TrafficRow {
                range: span,
                slot: span.oldest(now).plus(span.step() * slot as u32),
                subject: subject.clone(),
                owner: OWNER,
                traffic: slot_traffic(slot),
            })
        });
        store.put_traffic(rows.collect()).await?;
    }
    Ok(())
}

fn slot_traffic(slot: u64) -> Traffic {
    let mut traffic = Traffic {
        accepted: 1_000 + slot * 13 % 700,
        duplicates: 30 + slot % 40,
        conflicts: slot % 3,
        rejected: slot % 5,
        gap_ms_max: 3_600_000,
        completed: 900 + slot % 100,
        failed: 10,
        dead: slot % 2,
        ..Traffic::default()
    };
    for millis in 1..60 {
        traffic.took.count(Duration::from_millis(millis));
    }
    traffic
}
