//! From rounds to figures: medians, ratios to the ceiling, and whether they meet their targets.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::Report;

use super::backlog::Backlog;
use super::ledger::Ledger;
use super::median::median;
use super::plan::StoreKind;
use super::remembered::Remembered;
use super::round::Round;

/// Most bytes that one event may take after its payload was purged.
const ENTRY_BYTES_MAX: f64 = 200.0;

/// One line of the result.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub name: String,
    /// The median of its rounds.
    pub value: f64,
    pub unit: Unit,
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
    /// The value should be at least `floor`, ideally `aim`.
    AtLeast {
        /// Below this, the figure fails.
        floor: f64,
        /// From here on, no improvement is needed.
        aim: f64,
    },
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
    new_64: Option<Target>,
    new_256: Target,
    new_p99: Option<Target>,
    duplicates_64: Option<Target>,
    duplicates_256: Option<Target>,
    delivered: Option<Target>,
    committed: Option<Target>,
}

impl Wanted {
    const fn of(kind: StoreKind) -> Self {
        const fn ratio(floor: f64, aim: f64) -> Target {
            Target::RatioAtLeast { floor, aim }
        }
        match kind {
            StoreKind::Sqlite => Self {
                new_64: Some(ratio(0.18, 0.30)),
                new_256: ratio(0.25, 0.40),
                new_p99: Some(Target::RatioAtMost(4.0)),
                duplicates_64: Some(ratio(0.75, 0.90)),
                duplicates_256: Some(ratio(0.75, 0.90)),
                delivered: Some(ratio(0.10, 0.20)),
                committed: None,
            },
            StoreKind::Postgres => Self {
                new_64: None,
                new_256: ratio(0.22, 0.35),
                new_p99: None,
                duplicates_64: None,
                duplicates_256: None,
                delivered: None,
                committed: Some(Target::AtLeast {
                    floor: 2_500.0,
                    aim: 6_000.0,
                }),
            },
            StoreKind::Redis => Self {
                new_64: None,
                new_256: ratio(0.25, 0.40),
                new_p99: None,
                duplicates_64: None,
                duplicates_256: Some(ratio(0.70, 0.90)),
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
        |round| Some(round.delivered_per_second),
        wanted.delivered,
    ));
    figures.push(against_ceiling(
        "accepted to committed by a sql destination".to_owned(),
        rounds,
        64,
        |round| Some(round.committed_per_second),
        wanted.committed,
    ));
    figures.extend(footprint(rounds));
    figures
}

/// Rates and latencies of each kind of request, for each number of connections.
fn of_requests(rounds: &[Round], wanted: &Wanted) -> Vec<Figure> {
    let mut figures = Vec::new();
    for connections in [64, 256] {
        let ceiling = |round: &Round| success_rate(&round.ceiling, connections);
        let name = format!("ceiling, {connections} connections");
        figures.push(rate(name, rounds, ceiling, None));
        let reports: Reports = |round| &round.ceiling;
        figures.extend(latencies("ceiling", connections, rounds, reports, None));
    }
    for (connections, target, p99) in [
        (64, wanted.new_64, wanted.new_p99),
        (256, Some(wanted.new_256), None),
    ] {
        let name = format!("new events, {connections} connections");
        let new = |round: &Round| expected_rate(&round.new, connections, |report| report.counts.accepted);
        figures.push(against_ceiling(name, rounds, connections, new, target));
        let reports: Reports = |round| &round.new;
        figures.extend(latencies("new events", connections, rounds, reports, p99));
    }
    for (connections, target) in [(64, wanted.duplicates_64), (256, wanted.duplicates_256)] {
        let name = format!("duplicates, {connections} connections");
        let seen =
            |round: &Round| expected_rate(&round.duplicates, connections, |report| report.counts.duplicate);
        figures.push(against_ceiling(name, rounds, connections, seen, target));
        let reports: Reports = |round| &round.duplicates;
        figures.extend(latencies("duplicates", connections, rounds, reports, None));
    }
    for connections in [64, 256] {
        figures.push(against_new(rounds, connections));
        let reports: Reports = |round| &round.conflicts;
        figures.extend(latencies("conflicts", connections, rounds, reports, None));
    }
    figures
}

fn rate(
    name: String,
    rounds: &[Round],
    value: impl Fn(&Round) -> Option<f64>,
    target: Option<Target>,
) -> Figure {
    let value = median(rounds.iter().filter_map(value));
    Figure::new(name, value, Unit::PerSecond, None, target)
}

fn against_ceiling(
    name: String,
    rounds: &[Round],
    connections: usize,
    value: impl Fn(&Round) -> Option<f64>,
    target: Option<Target>,
) -> Figure {
    let ratio = median(
        rounds
            .iter()
            .filter_map(|round| Some(value(round)? / success_rate(&round.ceiling, connections)?)),
    );
    let value = median(rounds.iter().filter_map(&value));
    Figure::new(name, value, Unit::PerSecond, Some(ratio), target)
}

/// Conflicts compared with the new events of the same round: a provider that changes its bodies must not slow the
/// others.
fn against_new(rounds: &[Round], connections: usize) -> Figure {
    let value = |round: &Round| expected_rate(&round.conflicts, connections, |report| report.counts.conflict);
    let new = |round: &Round| expected_rate(&round.new, connections, |report| report.counts.accepted);
    let ratio = median(
        rounds
            .iter()
            .filter_map(|round| Some(value(round)? / new(round)?)),
    );
    let target = Target::RatioAtLeast { floor: 0.5, aim: 1.0 };
    let name = format!("conflicts, {connections} connections, of new events");
    Figure::new(
        name,
        median(rounds.iter().filter_map(value)),
        Unit::PerSecond,
        Some(ratio),
        Some(target),
    )
}

/// The reports of one kind of request, by the number of connections.
type Reports = fn(&Round) -> &BTreeMap<usize, Report>;

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
        let read =
            |reports: &BTreeMap<usize, Report>| reports.get(&connections).map(|report| of(report) as f64);
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

pub(super) fn against_empty(ledger: &Ledger) -> Vec<Figure> {
    let (empty, large) = (ledger.empty_per_second(), ledger.large_per_second());
    let target = Target::RatioAtLeast {
        floor: 0.85,
        aim: 1.0,
    };
    let name = format!("new events, {} entries, of the empty store's", ledger.entries);
    vec![
        Figure::new(
            "new events, empty store, for minutes".to_owned(),
            empty,
            Unit::PerSecond,
            None,
            None,
        ),
        Figure::new(name, large, Unit::PerSecond, Some(large / empty), Some(target)),
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
    let (short, long) = (backlog.short_per_second(), backlog.long_per_second());
    let target = Target::RatioAtLeast {
        floor: 0.80,
        aim: 1.0,
    };
    let name = format!(
        "leased and finished, {} waiting, of the short backlog's",
        backlog.deliveries
    );
    vec![
        Figure::new(
            "leased and finished, short backlog".to_owned(),
            short,
            Unit::PerSecond,
            None,
            None,
        ),
        Figure::new(name, long, Unit::PerSecond, Some(long / short), Some(target)),
    ]
}

impl Figure {
    fn new(name: String, value: f64, unit: Unit, ratio: Option<f64>, target: Option<Target>) -> Self {
        let standing = target.map_or(Standing::NoTarget, |target| target.grade(value, ratio));
        Self {
            name,
            value,
            unit,
            ratio,
            target,
            standing,
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
            Self::AtLeast { aim, .. } if value >= aim => Standing::AimReached,
            Self::AtLeast { floor, .. } if value >= floor => Standing::Reached,
            Self::RatioAtMost(limit) if ratio.is_some_and(|ratio| ratio <= limit) => Standing::Reached,
            Self::AtMost(limit) if value <= limit => Standing::Reached,
            Self::Below(limit) if value < limit => Standing::Reached,
            Self::AtLeast { .. } | Self::RatioAtMost(_) | Self::AtMost(_) | Self::Below(_) => {
                Standing::Missed
            }
        }
    }
}

fn success_rate(reports: &BTreeMap<usize, Report>, connections: usize) -> Option<f64> {
    expected_rate(reports, connections, |report| report.counts.successes())
}

/// Counts only the expected answers: fast errors are not throughput.
fn expected_rate(
    reports: &BTreeMap<usize, Report>,
    connections: usize,
    count: impl Fn(&Report) -> u64,
) -> Option<f64> {
    let report = reports.get(&connections)?;
    (report.seconds > 0.0).then(|| count(report) as f64 / report.seconds)
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
        let rate = Target::AtLeast { floor: 2.0, aim: 6.0 };
        assert_eq!(rate.grade(1.9, None), Standing::Missed);
        assert_eq!(rate.grade(2.0, None), Standing::Reached);
        assert_eq!(rate.grade(6.0, None), Standing::AimReached);
        assert_eq!(Target::AtMost(200.0).grade(200.0, None), Standing::Reached);
        assert_eq!(Target::AtMost(200.0).grade(200.1, None), Standing::Missed);
        assert_eq!(Target::AtMost(200.0).grade(f64::NAN, None), Standing::Missed);
        assert_eq!(Target::Below(40.0).grade(40.0, None), Standing::Missed);
        assert_eq!(Target::Below(40.0).grade(39.9, None), Standing::Reached);
    }
}
