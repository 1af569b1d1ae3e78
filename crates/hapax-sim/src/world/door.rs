//! The door: where senders reach a replica, and where every answer that it gives is noted.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hapax_engine::{Accepted, Arrival, Engine, Refusal};
use tokio::sync::oneshot;

use super::World;
use crate::executor::{Process, lock};
use crate::history::{Fact, Told};

/// The replicas that can be reached.
pub struct Door {
    places: Vec<Mutex<Option<Replica>>>,
    last_process: AtomicU32,
}

/// A replica that serves.
#[derive(Clone)]
pub struct Replica {
    /// Its process.
    pub process: Process,
    /// Its engine; none until it has started.
    pub engine: Option<Engine>,
    /// Its clock.
    pub clock: Arc<crate::clock::SkewedClock>,
}

/// What a sender hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Every event of the request was taken.
    Success,
    /// Not now.
    Refusal,
}

impl Door {
    /// A door with places for this many replicas.
    pub fn new(places: usize) -> Self {
        Self {
            places: (0..places).map(|_| Mutex::default()).collect(),
            last_process: AtomicU32::new(Process::WORLD.0),
        }
    }

    /// A process that was never before.
    pub fn next_process(&self) -> Process {
        Process(self.last_process.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Who is at a place.
    pub fn at(&self, place: usize) -> Option<Replica> {
        self.places.get(place).and_then(|place| lock(place).clone())
    }

    /// Puts a replica there.
    pub fn put(&self, place: usize, replica: Replica) {
        if let Some(place) = self.places.get(place) {
            *lock(place) = Some(replica);
        }
    }

    /// Takes the replica away.
    pub fn take(&self, place: usize) -> Option<Replica> {
        self.places.get(place).and_then(|place| lock(place).take())
    }
}

impl World {
    /// Hands a request to the replica at a place. Nothing is heard from a process that dies meanwhile.
    pub(super) fn knock(&self, place: usize, arrivals: Vec<Arrival>) -> Option<oneshot::Receiver<Heard>> {
        let replica = self.door.at(place)?;
        let engine = replica.engine?;
        let (answer, heard) = oneshot::channel();
        let (history, by) = (self.history.clone(), replica.process);
        self.executor.spawn(by, async move {
            let events: Vec<String> = arrivals.iter().map(|arrival| arrival.event_id.clone()).collect();
            let answers = engine.accept(arrivals).await;
            for (event, told) in told(events, &answers) {
                history.note(Fact::Answered { by, event, told });
            }
            // The sender may have given up.
            let _ = answer.send(match answers {
                Ok(_) => Heard::Success,
                Err(_) => Heard::Refusal,
            });
        });
        Some(heard)
    }
}

fn told(events: Vec<String>, answers: &Result<Vec<Accepted>, Refusal>) -> Vec<(String, Told)> {
    match answers {
        Err(_) => events.into_iter().map(|event| (event, Told::Refused)).collect(),
        Ok(answers) => answers.iter().map(of_answer).collect(),
    }
}

fn of_answer(answer: &Accepted) -> (String, Told) {
    let told = match answer {
        Accepted::New { id, .. } => Told::Accepted(*id),
        Accepted::Duplicate { id, .. } => Told::Duplicate(*id),
        Accepted::Conflict { id, .. } => Told::Conflict(*id),
    };
    (answer.event_id().to_owned(), told)
}
