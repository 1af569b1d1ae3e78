//! The history in readable form: one line per entry, the same for the same seed.

use std::fmt;

use super::{Delivery, Entry, Fact};
use crate::executor::Process;

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.0)
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {} ({})", self.event, self.destination, self.id)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12.6}  ", self.at.as_secs_f64())?;
        match &self.fact {
            Fact::LeasesLast(lease) => write!(f, "leases last {} s", lease.as_secs_f64()),
            Fact::Started(process) => write!(f, "{process} started"),
            Fact::Answered { by, event, told } => write!(f, "{by} answered {event}: {told:?}"),
            Fact::Processed(event) => write!(f, "door     {event} is done"),
            Fact::Stored { event, id, lane, .. } => write!(f, "store    new {event} ({id}), lane {lane:?}"),
            Fact::Leased { by, delivery, token } => {
                write!(f, "store    leased {delivery} to {by}, token {}", token.0)
            }
            Fact::Rescued { delivery, lost } => write!(f, "store    reclaimed {delivery}, lost {lost}"),
            Fact::Finished {
                by,
                delivery,
                token,
                verdict,
            } => write!(f, "store    {verdict:?} {delivery} by {by}, token {}", token.0),
            Fact::Late { by, delivery, token } => {
                write!(f, "store    too late {delivery} by {by}, token {}", token.0)
            }
            Fact::Asked(what) => write!(f, "operator asked {what}"),
            Fact::Replayed(id) => write!(f, "operator replayed {id}"),
            Fact::PutBack { delivery, job: None } => write!(f, "store    requeued {delivery}"),
            Fact::PutBack {
                delivery,
                job: Some(job),
            } => write!(f, "store    requeued {delivery} for {job}"),
            Fact::Calm => write!(f, "no more faults from here on"),
            Fact::Forced(process) => write!(f, "operator asked {process} to replay everything by force"),
            Fact::Attempted {
                delivery,
                generation,
                key,
            } => write!(
                f,
                "sink     attempt {delivery}, generation {generation}, key {key}"
            ),
            Fact::Effect { delivery, generation } => {
                write!(f, "sink     EFFECT {delivery}, generation {generation}")
            }
            Fact::Fault(fault) => write!(f, "FAULT    {fault:?}"),
            Fact::Ended { unfinished, settled } => {
                write!(f, "the end: {unfinished} unfinished, settled: {settled:?}")
            }
        }
    }
}
