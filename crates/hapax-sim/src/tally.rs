//! Totals over many runs: how much was tried, how much was broken, what was found.

use std::fmt;
use std::time::Duration;

use crate::history::{Fact, Fault};
use crate::run::Run;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub runs: u64,
    /// Total virtual time.
    pub virtual_time: Duration,
    /// Events stored as new.
    pub events: usize,
    /// 2xx answers.
    pub answers: usize,
    /// Events reported as done to a sender.
    pub processed: usize,
    /// Attempts that reached a destination.
    pub attempts: usize,
    pub effects: usize,
    pub kills: usize,
    /// Processes suspended.
    pub pauses: usize,
    /// Messages lost to or from the store.
    pub messages_lost: usize,
    pub outages: usize,
    /// How often a process was cut off from the store.
    pub cut_offs: usize,
    pub clock_steps: usize,
    pub leases_lost: usize,
    /// Late writes that were refused.
    pub fenced: usize,
    /// Events that were dead after three losses, and replayed.
    pub replayed: usize,
    /// Replays, pauses and resumes requested by operators.
    pub asked: usize,
    pub failed: u64,
}

impl Tally {
    pub fn add(&mut self, run: &Run) {
        self.runs += 1;
        self.virtual_time += run.lasted;
        self.failed += u64::from(!run.violations.is_empty());
        for entry in &run.history {
            self.count(&entry.fact);
        }
    }

    fn count(&mut self, fact: &Fact) {
        match fact {
            Fact::Stored { .. } => self.events += 1,
            Fact::Answered { told, .. } => self.answers += usize::from(told.id().is_some()),
            Fact::Attempted { .. } => self.attempts += 1,
            Fact::Effect { .. } => self.effects += 1,
            Fact::Rescued { .. } => self.leases_lost += 1,
            Fact::Late { .. } => self.fenced += 1,
            Fact::Replayed(_) => self.replayed += 1,
            Fact::Fault(fault) => self.count_fault(*fault),
            Fact::Asked(_) | Fact::Forced(_) => self.asked += 1,
            Fact::Processed(_) => self.processed += 1,
            Fact::LeasesLast(_)
            | Fact::Started(_)
            | Fact::Leased { .. }
            | Fact::Finished { .. }
            | Fact::PutBack { .. }
            | Fact::Calm
            | Fact::Ended { .. } => {}
        }
    }

    fn count_fault(&mut self, fault: Fault) {
        match fault {
            Fault::Killed(_) => self.kills += 1,
            Fault::Paused(_) => self.pauses += 1,
            Fault::MessageLost(_) => self.messages_lost += 1,
            Fault::StoreDown => self.outages += 1,
            Fault::CutOff(_) => self.cut_offs += 1,
            Fault::StoreClockStepped(_) | Fault::ClockStepped(..) => self.clock_steps += 1,
            Fault::ShutDown(_) | Fault::Resumed(_) | Fault::Reconnected(_) | Fault::StoreUp => {}
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.virtual_time.as_secs_f64() / 3_600.0;
        let rows = [
            ("seeds", self.runs.to_string()),
            ("virtual hours", format!("{hours:.1}")),
            ("events accepted", self.events.to_string()),
            ("answers 2xx", self.answers.to_string()),
            ("answers after processing", self.processed.to_string()),
            ("attempts", self.attempts.to_string()),
            ("effects", self.effects.to_string()),
            ("processes killed", self.kills.to_string()),
            ("processes paused", self.pauses.to_string()),
            ("messages lost", self.messages_lost.to_string()),
            ("store outages", self.outages.to_string()),
            ("processes cut off from the store", self.cut_offs.to_string()),
            ("clocks stepped", self.clock_steps.to_string()),
            ("leases lost", self.leases_lost.to_string()),
            ("late writes refused", self.fenced.to_string()),
            ("dead and replayed", self.replayed.to_string()),
            ("operator requests", self.asked.to_string()),
            ("seeds that broke a promise", self.failed.to_string()),
        ];
        for (name, value) in rows {
            writeln!(f, "{name:<28}{value:>10}")?;
        }
        Ok(())
    }
}
