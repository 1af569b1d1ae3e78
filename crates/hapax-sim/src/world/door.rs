//! The door: where senders reach a replica, and where every answer is recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hapax_engine::{Accepted, Engine, IncomingEvent, Processed, Refusal};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::World;
use crate::executor::Process;
use crate::history::{Fact, History, Told};
use crate::mutation::Mutation;

/// The reachable replicas.
pub struct Door {
    places: Vec<Mutex<Option<Replica>>>,
    last_process: AtomicU32,
}

/// A running replica.
#[derive(Clone)]
pub struct Replica {
    pub process: Process,
    /// Its engine; none until it has started.
    pub engine: Option<Engine>,
    pub clock: Arc<crate::clock::SkewedClock>,
}

/// The response that a sender sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Every event of the request was accepted.
    Success,
    /// Retry later.
    Refusal,
}

impl Door {
    /// A door with positions for this many replicas.
    pub fn new(places: usize) -> Self {
        Self {
            places: (0..places).map(|_| Mutex::default()).collect(),
            last_process: AtomicU32::new(Process::WORLD.0),
        }
    }

    /// A new process.
    pub fn next_process(&self) -> Process {
        Process(self.last_process.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The replica at a position.
    pub fn at(&self, place: usize) -> Option<Replica> {
        self.places.get(place).and_then(|place| place.lock().clone())
    }

    pub fn put(&self, place: usize, replica: Replica) {
        if let Some(place) = self.places.get(place) {
            *place.lock() = Some(replica);
        }
    }

    pub fn take(&self, place: usize) -> Option<Replica> {
        self.places.get(place).and_then(|place| place.lock().take())
    }
}

/// When a source answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ack {
    /// When the event is stored.
    Stored,
    /// When every destination has finished it.
    Processed,
}

/// How long a source waits for the deliveries.
const WORK_MAX: Duration = Duration::from_millis(1_500);

impl World {
    /// Sends a request to the replica at a position. A process that dies in the meantime never answers.
    pub(super) fn knock(
        &self,
        place: usize,
        arrivals: Vec<IncomingEvent>,
        when: Ack,
    ) -> Option<oneshot::Receiver<Heard>> {
        let replica = self.door.at(place)?;
        let engine = replica.engine?;
        let (answer, heard) = oneshot::channel();
        let (history, by, mutation) = (self.history.clone(), replica.process, self.vault.mutation());
        self.executor.spawn(by, async move {
            let events: Vec<String> = arrivals
                .iter()
                .map(|incoming| incoming.event_id.clone())
                .collect();
            let answers = engine.accept(arrivals).await;
            let heard = match (&answers, when) {
                (Err(_), _) => Heard::Refusal,
                (Ok(_), Ack::Stored) => Heard::Success,
                (Ok(accepted), Ack::Processed) => processed(&engine, accepted, mutation, &history).await,
            };
            for (event, told) in told(events, &answers) {
                let told = if heard == Heard::Success {
                    told
                } else {
                    Told::Refused
                };
                history.note(Fact::Answered { by, event, told });
            }
            // The sender may have timed out.
            let _ = answer.send(heard);
        });
        Some(heard)
    }
}

/// Waits for the deliveries of a request.
async fn processed(
    engine: &Engine,
    accepted: &[Accepted],
    mutation: Option<Mutation>,
    history: &History,
) -> Heard {
    let how_far = match mutation {
        Some(Mutation::AckBeforeWork) => Ok(Processed::Done),
        Some(_) | None => engine.processed(accepted, WORK_MAX).await,
    };
    match how_far {
        Ok(Processed::Done) => {}
        Ok(Processed::InFlight | Processed::Failed) | Err(_) => return Heard::Refusal,
    }
    for one in accepted {
        match one {
            Accepted::New { event_id, .. } | Accepted::Duplicate { event_id, .. } => {
                history.note(Fact::Processed(event_id.clone()));
            }
            // Stored without deliveries: nothing to wait for.
            Accepted::Quarantined { .. } | Accepted::Conflict { .. } => {}
        }
    }
    Heard::Success
}

fn told(events: Vec<String>, answers: &Result<Vec<Accepted>, Refusal>) -> Vec<(String, Told)> {
    match answers {
        Err(_) => events.into_iter().map(|event| (event, Told::Refused)).collect(),
        Ok(answers) => answers.iter().map(of_answer).collect(),
    }
}

fn of_answer(answer: &Accepted) -> (String, Told) {
    let told = match answer {
        Accepted::New { id, .. } | Accepted::Quarantined { id, .. } => Told::Accepted(*id),
        Accepted::Duplicate { id, .. } => Told::Duplicate(*id),
        Accepted::Conflict { id, .. } => Told::Conflict(*id),
    };
    (answer.event_id().to_owned(), told)
}
