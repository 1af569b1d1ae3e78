//! The result of a soak, and whether it passed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

use serde::Serialize;

use crate::demo::Senders;
use crate::sink::Effects;
use hapax_terminal::output;

use super::fault::Fault;

/// Rounds of one process before anything can be said about its growth.
const SAMPLES_MIN: usize = 8;
/// Caches fill for a while, so growth up to these limits is not a leak.
const GROWTH_MAX: f64 = 1.10;
const GROWTH_KIB: u64 = 8 * 1024;
const DESCRIPTORS_MORE: u64 = 16;

/// The process after a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) anonymous_kib: u64,
    pub(super) descriptors: u64,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Tally {
    pub(super) rounds: u64,
    kills: u64,
    stops: u64,
    events: u64,
    requests: u64,
    attempts: u64,
    /// Events answered 2xx without an effect at the sink or in the table.
    lost: u64,
    /// Effects beyond the first.
    doubled: u64,
    /// Events that were never answered 2xx, or were answered `accepted` more than once.
    odd: u64,
    /// Events that reached the sink under more than one key.
    several_keys: u64,
    #[serde(skip)]
    acknowledged: HashSet<String>,
}

impl Tally {
    /// Adds a round.
    pub(super) fn add(&mut self, senders: &Senders, effects: &Effects, fault: Fault) {
        self.rounds += 1;
        match fault {
            Fault::None => {}
            Fault::Kill => self.kills += 1,
            Fault::Stop => self.stops += 1,
        }
        self.requests += senders.requests();
        for (number, heard) in senders.heard().iter().enumerate() {
            self.events += 1;
            self.odd += u64::from(!heard.is_acknowledged()) + u64::from(heard.accepted > 1);
            if heard.is_acknowledged() {
                let id = senders.event_id(number);
                self.lost += u64::from(!effects.has(&id));
                self.acknowledged.insert(id);
            }
        }
        let totals = effects.totals();
        self.attempts = totals.attempts;
        self.doubled = totals.effects - totals.events;
        self.several_keys = totals.events_with_several_keys;
    }

    /// Adds the effects in the table of a `sql` destination.
    pub(super) fn read(&mut self, lines: &HashMap<String, u64>) {
        self.doubled += lines.values().sum::<u64>() - lines.len() as u64;
        let missing = self.acknowledged.iter().filter(|id| !lines.contains_key(*id));
        self.lost += missing.count() as u64;
    }
}

#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(flatten)]
    tally: Tally,
    seconds: f64,
    /// Medians of the second and the last quarter of the last process's life.
    anonymous_kib: Option<(u64, u64)>,
    descriptors: Option<(u64, u64)>,
    /// Whether the soak passed.
    pub passed: bool,
}

impl Report {
    pub(super) fn new(tally: Tally, samples: &[Sample], took: Duration) -> Self {
        let anonymous_kib = trend(samples, |sample| sample.anonymous_kib);
        let descriptors = trend(samples, |sample| sample.descriptors);
        let flat_memory = anonymous_kib
            .is_none_or(|(early, late)| late as f64 <= early as f64 * GROWTH_MAX + GROWTH_KIB as f64);
        let flat_descriptors = descriptors.is_none_or(|(early, late)| late <= early + DESCRIPTORS_MORE);
        let exact = tally.lost + tally.doubled + tally.odd + tally.several_keys == 0;
        Self {
            passed: exact && flat_memory && flat_descriptors,
            tally,
            seconds: took.as_secs_f64(),
            anonymous_kib,
            descriptors,
        }
    }
}

/// The medians of the second and the last quarter. The first quarter is left out, because caches are still filling.
fn trend(samples: &[Sample], value: fn(&Sample) -> u64) -> Option<(u64, u64)> {
    let quarter = samples.len() / 4;
    let median = |part: &[Sample]| {
        let mut values: Vec<u64> = part.iter().map(value).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    if samples.len() < SAMPLES_MIN {
        return None;
    }
    Some((
        median(samples.get(quarter..2 * quarter)?)?,
        median(samples.get(3 * quarter..)?)?,
    ))
}

/// Prints the report for people.
pub fn print(report: &Report) -> io::Result<()> {
    let tally = &report.tally;
    output::line(format_args!(
        "{} rounds in {:.0} s: {} kills, {} stops past the leases, a sink that fails one delivery in seven",
        tally.rounds, report.seconds, tally.kills, tally.stops
    ))?;
    for (name, number) in [
        ("events", tally.events),
        ("requests", tally.requests),
        ("attempts", tally.attempts),
        ("lost", tally.lost),
        ("doubled", tally.doubled),
        ("odd", tally.odd),
        ("several keys", tally.several_keys),
    ] {
        output::line(format_args!("{name:<13}{number:>9}"))?;
    }
    match (report.anonymous_kib, report.descriptors) {
        (Some(memory), Some(descriptors)) => output::line(format_args!(
            "memory {} KiB early, {} KiB late; descriptors {} early, {} late",
            memory.0, memory.1, descriptors.0, descriptors.1
        ))?,
        (None, _) | (_, None) => output::line(format_args!(
            "too short to tell whether memory and descriptors grow: fewer than {SAMPLES_MIN} rounds of one process"
        ))?,
    }
    output::line(format_args!(
        "{}",
        if report.passed {
            "it holds"
        } else {
            "IT DOES NOT HOLD"
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Iterator<Item = u64>, descriptors: u64) -> Vec<Sample> {
        let sample = |anonymous_kib| Sample {
            anonymous_kib,
            descriptors,
        };
        memory.map(sample).collect()
    }

    fn report(tally: Tally, samples: &[Sample]) -> Report {
        Report::new(tally, samples, Duration::from_secs(1))
    }

    #[test]
    fn memory_that_is_flat_passes_and_memory_that_grows_does_not() {
        assert!(report(Tally::default(), &samples((0..40).map(|_| 50_000), 30)).passed);
        let grows = samples((0..40).map(|round| 50_000 + round * 2_000), 30);
        assert!(!report(Tally::default(), &grows).passed);
    }

    #[test]
    fn descriptors_that_grow_do_not_pass() {
        let mut grows = samples((0..40).map(|_| 50_000), 30);
        for (round, sample) in grows.iter_mut().enumerate() {
            sample.descriptors += round as u64;
        }
        assert!(!report(Tally::default(), &grows).passed);
    }

    #[test]
    fn what_is_lost_doubled_or_odd_does_not_pass() {
        let flat = samples((0..40).map(|_| 50_000), 30);
        for tally in [
            Tally {
                lost: 1,
                ..Tally::default()
            },
            Tally {
                doubled: 1,
                ..Tally::default()
            },
            Tally {
                odd: 1,
                ..Tally::default()
            },
            Tally {
                several_keys: 1,
                ..Tally::default()
            },
        ] {
            assert!(!report(tally, &flat).passed);
        }
    }

    #[test]
    fn a_line_that_is_missing_or_there_twice_is_seen() {
        let mut tally = Tally::default();
        tally.acknowledged.extend(["a".to_owned(), "b".to_owned()]);
        tally.read(&HashMap::from([("a".to_owned(), 2)]));
        assert_eq!((tally.lost, tally.doubled), (1, 1));
    }
}
