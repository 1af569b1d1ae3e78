//! Processor time per event: of the service, and of the database under its store. It depends far less than a rate on
//! what else the machine does.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::processor::processor_time;
use crate::report::Report;

use super::database::Database;
use super::median::median;

/// Processor time per event, in microseconds. A time that cannot be read is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProcessorUs {
    /// Of the process that answers: the service, or the ceiling.
    pub service: Option<f64>,
    /// Of all processes of the database servers; none for a file.
    pub database: Option<f64>,
}

/// A rate, and what each event cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    pub per_second: f64,
    pub processor_us: ProcessorUs,
}

/// Reads the processor time of a process and of the database that it uses.
#[derive(Clone, Copy)]
pub(super) struct Meter<'a> {
    pid: u32,
    database: &'a Database,
}

/// A measurement that has begun.
pub(super) struct Running<'a> {
    meter: Meter<'a>,
    before: Spent,
}

/// Processor time that was used; `None` if it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spent {
    service: Option<Duration>,
    database: Option<Duration>,
}

impl<'a> Meter<'a> {
    pub(super) const fn new(pid: u32, database: &'a Database) -> Self {
        Self { pid, database }
    }

    pub(super) fn start(self) -> Running<'a> {
        Running {
            meter: self,
            before: self.read(),
        }
    }

    fn read(self) -> Spent {
        Spent {
            service: processor_time(self.pid),
            database: self.database.processor_time(),
        }
    }
}

impl Running<'_> {
    pub(super) fn end(self) -> Spent {
        self.meter.read().since(self.before)
    }
}

impl Spent {
    /// Nothing yet.
    pub(super) const NOTHING: Self = Self {
        service: Some(Duration::ZERO),
        database: Some(Duration::ZERO),
    };

    fn since(self, before: Self) -> Self {
        let side = |now: Option<Duration>, before: Option<Duration>| Some(now?.saturating_sub(before?));
        Self {
            service: side(self.service, before.service),
            database: side(self.database, before.database),
        }
    }

    /// Both together; unknown if either is.
    pub(super) fn and(self, other: Self) -> Self {
        let side = |one: Option<Duration>, other: Option<Duration>| Some(one? + other?);
        Self {
            service: side(self.service, other.service),
            database: side(self.database, other.database),
        }
    }

    pub(super) fn per_event(self, events: u64) -> ProcessorUs {
        let share = |time: Duration| (events > 0).then(|| time.as_secs_f64() * 1e6 / events as f64);
        ProcessorUs {
            service: self.service.and_then(share),
            database: self.database.and_then(share),
        }
    }
}

impl ProcessorUs {
    /// The medians of those that are known.
    pub(super) fn median(all: impl IntoIterator<Item = Self>) -> Self {
        let all: Vec<Self> = all.into_iter().collect();
        let side = |of: fn(&Self) -> Option<f64>| {
            let known: Vec<f64> = all.iter().filter_map(of).collect();
            (!known.is_empty()).then(|| median(known.into_iter()))
        };
        Self {
            service: side(|one| one.service),
            database: side(|one| one.database),
        }
    }
}

impl Rate {
    /// The rate of a run in which every answer is expected to be a success.
    pub(super) fn of(report: &Report, spent: Spent) -> Self {
        Self {
            per_second: report.per_second,
            processor_us: spent.per_event(report.counts.successes()),
        }
    }

    /// The median rate, and the median cost.
    pub(super) fn median(all: &[Self]) -> Self {
        Self {
            per_second: median(all.iter().map(|rate| rate.per_second)),
            processor_us: ProcessorUs::median(all.iter().map(|rate| rate.processor_us)),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.0}/s", self.per_second)?;
        let ProcessorUs { service, database } = self.processor_us;
        match (service, database) {
            (Some(service), Some(database)) => {
                write!(
                    formatter,
                    " at {service:.1} µs CPU and {database:.1} µs of the database"
                )
            }
            (Some(service), None) => write!(formatter, " at {service:.1} µs CPU"),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(service_ms: u64, database_ms: Option<u64>) -> Spent {
        Spent {
            service: Some(Duration::from_millis(service_ms)),
            database: database_ms.map(Duration::from_millis),
        }
    }

    #[test]
    fn time_is_shared_by_all_events() {
        let cost = spent(500, Some(200))
            .since(spent(100, Some(100)))
            .per_event(10_000);
        assert_eq!(cost.service, Some(40.0));
        assert_eq!(cost.database, Some(10.0));
    }

    #[test]
    fn what_cannot_be_read_is_left_out_and_not_zero() {
        let cost = spent(500, None).since(spent(100, Some(100))).per_event(10_000);
        assert_eq!((cost.service, cost.database), (Some(40.0), None));
        assert_eq!(spent(500, Some(1)).per_event(0), ProcessorUs::default());
        assert_eq!(Spent::NOTHING.and(spent(5, None)), spent(5, None));
    }

    #[test]
    fn a_median_needs_a_round_that_knows_it() {
        let cost = |service, database| ProcessorUs {
            service: Some(service),
            database,
        };
        let rounds = [cost(1.0, None), cost(3.0, Some(7.0)), cost(2.0, None)];
        assert_eq!(ProcessorUs::median(rounds), cost(2.0, Some(7.0)));
        assert_eq!(ProcessorUs::median([]), ProcessorUs::default());
    }

    #[test]
    fn a_rate_is_printed_with_what_is_known_of_its_cost() {
        let rate = |service, database| Rate {
            per_second: 30_849.4,
            processor_us: ProcessorUs { service, database },
        };
        assert_eq!(rate(None, None).to_string(), "30849/s");
        assert_eq!(rate(Some(38.04), None).to_string(), "30849/s at 38.0 µs CPU");
        assert_eq!(
            rate(Some(35.0), Some(46.0)).to_string(),
            "30849/s at 35.0 µs CPU and 46.0 µs of the database"
        );
    }
}
