//! The effects of a sink: one per key, with a record that anyone can check afterwards.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Everything that was applied.
#[derive(Default)]
pub struct Effects {
    state: Mutex<State>,
    events: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    keys: HashSet<Box<str>>,
    /// The first key of each event. Nearly every event has exactly one; others are in `further_keys`.
    first_keys: HashMap<Box<str>, Box<str>>,
    further_keys: BTreeMap<Box<str>, Vec<Box<str>>>,
    attempts: u64,
    refused: u64,
    unnamed: u64,
    last_effect_at_us: u64,
    record: Option<File>,
    record_failed: bool,
}

/// What `apply` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The key was new, so this is an effect.
    Now,
    /// The key was applied before, so nothing happened.
    Before,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Deliveries that arrived with a key.
    pub attempts: u64,
    /// Different keys: effects.
    pub effects: u64,
    /// Different events.
    pub events: u64,
    /// Events that arrived under more than one key.
    pub events_with_several_keys: u64,
    /// Attempts that were refused without an effect.
    pub refused: u64,
    /// Deliveries without a key or an event id.
    pub unnamed: u64,
    /// When the last effect was applied, in microseconds since the Unix epoch.
    pub last_effect_at_us: u64,
}

impl Effects {
    /// Also writes a line for each effect to a file: the event, a tab, the key.
    pub fn recorded_in(path: &Path) -> io::Result<Self> {
        let effects = Self::default();
        effects.lock().record = Some(File::create(path)?);
        Ok(effects)
    }

    /// Applies a delivery, unless its key was applied before.
    pub fn apply(&self, event: &str, key: &str) -> Applied {
        let mut state = self.lock();
        state.attempts += 1;
        if !state.keys.insert(key.into()) {
            return Applied::Before;
        }
        state.last_effect_at_us = unix_micros();
        state.write(event, key);
        if state.first_keys.contains_key(event) {
            state
                .further_keys
                .entry(event.into())
                .or_default()
                .push(key.into());
        } else {
            state.first_keys.insert(event.into(), key.into());
            let events = state.first_keys.len();
            drop(state);
            self.events.send_replace(events);
        }
        Applied::Now
    }

    /// Counts an attempt that was refused.
    pub fn count_refused(&self) {
        let mut state = self.lock();
        state.attempts += 1;
        state.refused += 1;
    }

    /// Counts a delivery that lacks its key or event id.
    pub fn count_unnamed(&self) {
        self.lock().unnamed += 1;
    }

    /// Whether an event has had an effect.
    pub fn has(&self, event: &str) -> bool {
        self.lock().first_keys.contains_key(event)
    }

    /// Waits until this many different events have had an effect.
    pub async fn wait_for_events(&self, count: usize) {
        // The sender is part of `self`, so the wait never ends with an error.
        let _ = self.events.subscribe().wait_for(|events| *events >= count).await;
    }

    /// The counts so far.
    pub fn totals(&self) -> Totals {
        let state = self.lock();
        Totals {
            attempts: state.attempts,
            effects: state.keys.len() as u64,
            events: state.first_keys.len() as u64,
            events_with_several_keys: state.further_keys.len() as u64,
            refused: state.refused,
            unnamed: state.unnamed,
            last_effect_at_us: state.last_effect_at_us,
        }
    }

    /// Whether every effect is in the file.
    pub fn record_is_complete(&self) -> bool {
        !self.lock().record_failed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn write(&mut self, event: &str, key: &str) {
        if let Some(file) = &mut self.record
            && writeln!(file, "{event}\t{key}").is_err()
        {
            self.record_failed = true;
        }
    }
}

fn unix_micros() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_has_a_line_for_each_effect_and_none_for_a_repeat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("effects.tsv");
        let effects = Effects::recorded_in(&path).unwrap();
        assert_eq!(effects.apply("e1", "k1"), Applied::Now);
        assert_eq!(effects.apply("e1", "k1"), Applied::Before);
        assert_eq!(effects.apply("e2", "k2"), Applied::Now);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "e1\tk1\ne2\tk2\n");
        assert!(effects.record_is_complete());
        assert!(effects.has("e2") && !effects.has("e3"));
    }

    #[tokio::test]
    async fn waiting_ends_with_the_last_event() {
        let effects = Effects::default();
        let wait = effects.wait_for_events(2);
        let apply = async {
            effects.apply("e1", "k1");
            effects.apply("e1", "k1");
            effects.apply("e2", "k2");
        };
        tokio::join!(wait, apply);
        assert_eq!(effects.totals().events, 2);
    }
}
