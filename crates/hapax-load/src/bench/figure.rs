//! From rounds to figures: medians, ratios to the ceiling, and whether they meet their targets.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::Report;

use super::backlog::Backlog;
use super::ledger::Ledger;
use super::lone::Lone;
use super::median::median;
use super::meter::{ProcessorUs, Rate};
use super::plan::StoreKind;
use super::remembered::Remembered;
use super::round::{Measured, Round};

/// Most bytes that one event may take after its payload was purged.
const ENTRY_BYTES_MAX: f64 = 200.0;

/// One line of the result.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub name: String,
    /// The median of its rounds.
    pub value: f64,
    pub unit: Unit,
    /// Processor time per event, for a rate.
    pub processor_us: ProcessorUs,
    /// The ratio to its reference (the ceiling, or the empty store): the median of the ratios in each round.
    pub ratio: Option<f64>,
    pub target: Option<Target>,
    /// Whether the target is met.
    pub standing: Standing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Events or requests per second.
    PerSecond,
    Milliseconds,
    Mebibytes,
    Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The ratio should be at least `floor`, ideally `aim`.
    RatioAtLeast {
        /// Below this, the figure fails.
        floor: f64,
        /// From here on, no improvement is needed.
        aim: f64,
    },
    /// The ratio should not exceed this.
    RatioAtMost(f64),
    /// The value should not exceed this.
    AtMost(f64),
    /// The value should be below this.
    Below(f64),
}

/// Whether a figure meets its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    NoTarget,
    Missed,
    Reached,
    /// The aim was reached, too.
    AimReached,
}

/// The targets for a kind of store. A figure without a target is printed and not evaluated.
struct Wanted {
    new_64: Target,
    new_256: Target,
    new_p99: Option<Target>,
    duplicates_64: Option<Target>,
    duplicates_256: Option<Target>,
    conflicts: Target,
    delivered: Option<Target>,
    committed: Option<Target>,
}

impl Wanted {
    const fn of(kind: StoreKind) -> Self {
        const fn ratio(floor: f64, aim: f64) -> Target {
            Target::RatioAtLeast { floor, aim }
        }
        // A provider that changes its bodies must not slow the others.
        let conflicts = ratio(0.5, 0.7);
        match kind {
            StoreKind::Sqlite => Self {
                new_64: ratio(0.38, 0.42),
                new_256: ratio(0.40, 0.44),
                new_p99: Some(Target::RatioAtMost(4.0)),
                duplicates_64: Some(ratio(0.85, 0.90)),
                duplicates_256: Some(ratio(0.85, 0.90)),
                conflicts,
                delivered: Some(ratio(0.20, 0.25)),
                committed: None,
            },
            StoreKind::Postgres => Self {
                new_64: ratio(0.20, 0.24),
                new_256: ratio(0.29, 0.33),
                new_p99: None,
                duplicates_64: None,
                duplicates_256: None,
                conflicts,
                delivered: None,
                committed: Some(ratio(0.09, 0.12)),
            },
            StoreKind::Redis => Self {
                new_64: ratio(0.28, 0.32),
                new_256: ratio(0.29, 0.35),
                new_p99: None,
                duplicates_64: None,
                duplicates_256: Some(ratio(0.70, 0.90)),
                conflicts,
                delivered: None,
                committed: None,
            },
        }
    }
}

/// The figures of all rounds.
pub(super) fn all(rounds: &[Round], kind: StoreKind) -> Vec<Figure> {
    let wanted = Wanted::of(kind);
    let mut figures = of_requests(rounds, &wanted);
    figures.push(against_ceiling(
        "accepted to delivered, 64 connections".to_owned(),
        rounds,
        64,
        |round| Some(round.delivered),
        wanted.delivered,
    ));
    figures.push(against_ceiling(
        "accepted to committed by a sql destination".to_owned(),
        rounds,
        64,
        |round| Some(round.committed),
        wanted.committed,
    ));
    figures.extend(footprint(rounds));
    figures
}

/// Rates and latencies of each kind of request, for each number of connections.
fn of_requests(rounds: &[Round], wanted: &Wanted) -> Vec<Figure> {
    let mut figures = Vec::new();
    for connections in [64, 256] {
        let name = format!("ceiling, {connections} connections");
        let rates: Vec<Rate> = rounds
            .iter()
            .filter_map(|round| ceiling(round, connections))
            .collect();
        figures.push(Figure::rate(name, Rate::median(&rates), None, None));
        let reports: Reports = |round| &round.ceiling;
        figures.extend(latencies("ceiling", connections, rounds, reports, None));
    }
    for (connections, target, p99) in [(64, wanted.new_64, wanted.new_p99), (256, wanted.new_256, None)] {
        let name = format!("new events, {connections} connections");
        let new = |round: &Round| new(round, connections);
        figures.push(against_ceiling(name, rounds, connections, new, Some(target)));
        let reports: Reports = |round| &round.new;
        figures.extend(latencies("new events", connections, rounds, reports, p99));
    }
    for (connections, target) in [(64, wanted.duplicates_64), (256, wanted.duplicates_256)] {
        let name = format!("duplicates, {connections} connections");
        let seen = |round: &Round| rate(&round.duplicates, connections, |report| report.counts.duplicate);
        figures.push(against_ceiling(name, rounds, connections, seen, target));
        let reports: Reports = |round| &round.duplicates;
        figures.extend(latencies("duplicates", connections, rounds, reports, None));
    }
    for connections in [64, 256] {
        let name = format!("conflicts, {connections} connections, of new events");
        let conflicts = |round: &Round| rate(&round.conflicts, connections, |report| report.counts.conflict);
        let new = |round: &Round| new(round, connections);
        figures.push(against(name, rounds, conflicts, new, Some(wanted.conflicts)));
        let reports: Reports = |round| &round.conflicts;
        figures.extend(latencies("conflicts", connections, rounds, reports, None));
    }
    figures
}

fn against_ceiling(
    name: String,
    rounds: &[Round],
    connections: usize,
    value: impl Fn(&Round) -> Option<Rate>,
    target: Option<Target>,
) -> Figure {
    against(name, rounds, value, |round| ceiling(round, connections), target)
}

/// A rate, and its ratio to another rate of the same round.
fn against(
    name: String,
    rounds: &[Round],
    value: impl Fn(&Round) -> Option<Rate>,
    reference: impl Fn(&Round) -> Option<Rate>,
    target: Option<Target>,
) -> Figure {
    let ratios = rounds
        .iter()
        .filter_map(|round| Some(value(round)?.per_second / reference(round)?.per_second));
    let ratio = median(ratios);
    let rates: Vec<Rate> = rounds.iter().filter_map(&value).collect();
    Figure::rate(name, Rate::median(&rates), Some(ratio), target)
}

/// The reports of one kind of request, by the number of connections.
type Reports = fn(&Round) -> &BTreeMap<usize, Measured>;

/// The name of a percentile, and its field in a report.
type Percentile = (&'static str, fn(&Report) -> u64);

fn latencies(
    label: &str,
    connections: usize,
    rounds: &[Round],
    reports: Reports,
    p99_target: Option<Target>,
) -> Vec<Figure> {
    let percentiles: [Percentile; 2] = [
        ("p50", |report| report.latency.p50_us),
        ("p99", |report| report.latency.p99_us),
    ];
    let figure = |(percentile, of): Percentile| {
        let read = |reports: &BTreeMap<usize, Measured>| {
            let measured = reports.get(&connections)?;
            Some(of(&measured.report) as f64)
        };
        let value = median(rounds.iter().filter_map(|round| read(reports(round)))) / 1e3;
        let ratio = median(
            rounds
                .iter()
                .filter_map(|round| Some(read(reports(round))? / read(&round.ceiling)?)),
        );
        let target = p99_target.filter(|_| percentile == "p99");
        let ratio = (label != "ceiling").then_some(ratio);
        let name = format!("{label}, {connections} connections, {percentile}");
        Figure::new(name, value, Unit::Milliseconds, ratio, target)
    };
    percentiles.into_iter().map(figure).collect()
}

fn footprint(rounds: &[Round]) -> Vec<Figure> {
    let mebibytes = |kib: u64| kib as f64 / 1024.0;
    let mut figures = Vec::new();
    let mut memory = |name: &str, of: fn(&Round) -> Option<u64>, limit: Option<f64>| {
        let values: Vec<f64> = rounds.iter().filter_map(of).map(mebibytes).collect();
        if !values.is_empty() {
            let value = values.iter().copied().fold(0.0, f64::max);
            figures.push(Figure::new(
                name.to_owned(),
                value,
                Unit::Mebibytes,
                None,
                limit.map(Target::Below),
            ));
        }
    };
    memory(
        "anonymous memory, highest",
        |round| round.anonymous_peak_kib,
        Some(200.0),
    );
    memory("resident memory, highest", |round| round.resident_peak_kib, None);
    memory(
        "resident memory, idle",
        |round| round.idle_resident_kib,
        Some(40.0),
    );
    let ready = median(rounds.iter().map(|round| round.ready_ms));
    let target = Some(Target::Below(200.0));
    figures.push(Figure::new(
        "start to ready".to_owned(),
        ready,
        Unit::Milliseconds,
        None,
        target,
    ));
    figures
}

/// The latency of an event that comes alone.
pub(super) fn of_lone(lone: &Lone) -> Vec<Figure> {
    let latency = &lone.latency;
    [("p50", latency.p50_us), ("p99", latency.p99_us)]
        .map(|(percentile, value_us)| {
            let name = format!(
                "a lone event every {}, {percentile} of {}",
                lone.interval(),
                lone.events
            );
            Figure::new(name, value_us as f64 / 1e3, Unit::Milliseconds, None, None)
        })
        .into()
}

pub(super) fn against_empty(ledger: &Ledger) -> Vec<Figure> {
    let (empty, large) = (ledger.on_empty(), ledger.on_large());
    let target = Target::RatioAtLeast {
        floor: 0.85,
        aim: 1.0,
    };
    let ratio = large.per_second / empty.per_second;
    let name = format!("new events, {} entries, of the empty store's", ledger.entries);
    vec![
        Figure::rate(
            "new events, empty store, for minutes".to_owned(),
            empty,
            None,
            None,
        ),
        Figure::rate(name, large, Some(ratio), Some(target)),
    ]
}

pub(super) fn of_remembered(remembered: &Remembered) -> Figure {
    let name = format!(
        "memory of a ledger entry without its payload, {} entries",
        remembered.entries
    );
    let target = Target::AtMost(ENTRY_BYTES_MAX);
    Figure::new(name, remembered.bytes_each(), Unit::Bytes, None, Some(target))
}

pub(super) fn against_short(backlog: &Backlog) -> Vec<Figure> {
    let (short, long) = (backlog.with_short(), backlog.with_long());
    let target = Target::RatioAtLeast {
        floor: 0.80,
        aim: 1.0,
    };
    let ratio = long.per_second / short.per_second;
    let name = format!(
        "leased and finished, {} waiting, of the short backlog's",
        backlog.deliveries
    );
    vec![
        Figure::rate("leased and finished, short backlog".to_owned(), short, None, None),
        Figure::rate(name, long, Some(ratio), Some(target)),
    ]
}

impl Figure {
    fn new(name: String, value: f64, unit: Unit, ratio: Option<f64>, target: Option<Target>) -> Self {
        let standing = target.map_or(Standing::NoTarget, |target| target.grade(value, ratio));
        Self {
            name,
            value,
            unit,
            processor_us: ProcessorUs::default(),
            ratio,
            target,
            standing,
        }
    }

    fn rate(name: String, rate: Rate, ratio: Option<f64>, target: Option<Target>) -> Self {
        Self {
            processor_us: rate.processor_us,
            ..Self::new(name, rate.per_second, Unit::PerSecond, ratio, target)
        }
    }
}

impl Target {
    fn grade(self, value: f64, ratio: Option<f64>) -> Standing {
        match self {
            Self::RatioAtLeast { floor, aim } => match ratio {
                Some(ratio) if ratio >= aim => Standing::AimReached,
                Some(ratio) if ratio >= floor => Standing::Reached,
                Some(_) | None => Standing::Missed,
            },
            Self::RatioAtMost(limit) if ratio.is_some_and(|ratio| ratio <= limit) => Standing::Reached,
            Self::AtMost(limit) if value <= limit => Standing::Reached,
            Self::Below(limit) if value < limit => Standing::Reached,
            Self::RatioAtMost(_) | Self::AtMost(_) | Self::Below(_) => Standing::Missed,
        }
    }
}

fn ceiling(round: &Round, connections: usize) -> Option<Rate> {
    rate(&round.ceiling, connections, |report| report.counts.successes())
}

fn new(round: &Round, connections: usize) -> Option<Rate> {
    rate(&round.new, connections, |report| report.counts.accepted)
}

/// Counts only the expected answers: fast errors are not throughput.
fn rate(
    reports: &BTreeMap<usize, Measured>,
    connections: usize,
    count: impl Fn(&Report) -> u64,
) -> Option<Rate> {
    let Measured { report, processor_us } = reports.get(&connections)?;
    (report.seconds > 0.0).then(|| Rate {
        per_second: count(report) as f64 / report.seconds,
        processor_us: *processor_us,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_judged_against_floor_aim_and_limit() {
        let at_least = Target::RatioAtLeast {
            floor: 0.25,
            aim: 0.40,
        };
        assert_eq!(at_least.grade(1.0, Some(0.24)), Standing::Missed);
        assert_eq!(at_least.grade(1.0, Some(0.25)), Standing::Reached);
        assert_eq!(at_least.grade(1.0, Some(0.41)), Standing::AimReached);
        assert_eq!(at_least.grade(1.0, Some(f64::NAN)), Standing::Missed);
        assert_eq!(Target::RatioAtMost(4.0).grade(0.0, Some(4.1)), Standing::Missed);
        assert_eq!(Target::RatioAtMost(4.0).grade(0.0, Some(3.9)), Standing::Reached);
        assert_eq!(Target::AtMost(200.0).grade(200.0, None), Standing::Reached);
        assert_eq!(Target::AtMost(200.0).grade(200.1, None), Standing::Missed);
        assert_eq!(Target::AtMost(200.0).grade(f64::NAN, None), Standing::Missed);
        assert_eq!(Target::Below(40.0).grade(40.0, None), Standing::Missed);
        assert_eq!(Target::Below(40.0).grade(39.9, None), Standing::Reached);
    }

    fn measured(accepted: u64, service_us: f64, database_us: Option<f64>) -> Measured {
        let tally = crate::report::Tally::new().unwrap();
        let mut report = tally.report(64, std::time::Duration::from_secs(2), 0);
        report.counts.accepted = accepted;
        Measured {
            report,
            processor_us: ProcessorUs {
                service: Some(service_us),
                database: database_us,
            },
        }
    }

    #[test]
    fn a_rate_has_its_processor_time_beside_it() {
        let round = |service_us, database_us| Round {
            ceiling: [(64, measured(1_000, 7.0, None))].into(),
            new: [(64, measured(400, service_us, database_us))].into(),
            ..Round::default()
        };
        let rounds = [
            round(40.0, Some(80.0)),
            round(44.0, Some(90.0)),
            round(90.0, Some(85.0)),
        ];
        let figures = all(&rounds, StoreKind::Postgres);
        let figure = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
        let bare = figure("ceiling, 64 connections");
        assert_eq!((bare.value, bare.processor_us.service), (500.0, Some(7.0)));
        assert_eq!(bare.processor_us.database, None);
        let new = figure("new events, 64 connections");
        assert_eq!((new.value, new.ratio), (200.0, Some(0.4)));
        let expected = ProcessorUs {
            service: Some(44.0),
            database: Some(85.0),
        };
        assert_eq!((new.processor_us, new.standing), (expected, Standing::AimReached));
        assert_eq!(
            figure("new events, 64 connections, p50").processor_us,
            ProcessorUs::default()
        );
    }

    #[test]
    fn a_lone_events_figure_says_how_it_was_measured() {
        let lone = |every_ms| Lone {
            events: 200,
            every_ms,
            latency: crate::report::Latency {
                p50_us: 900,
                p99_us: 2_500,
                ..Default::default()
            },
            problems: Vec::new(),
        };
        let [p50, p99] = of_lone(&lone(1_000)).try_into().unwrap();
        assert_eq!(p50.name, "a lone event every second, p50 of 200");
        assert!((p99.value - 2.5).abs() < 1e-9);
        assert_eq!(
            of_lone(&lone(100))[1].name,
            "a lone event every 100 ms, p99 of 200"
        );
    }
}
