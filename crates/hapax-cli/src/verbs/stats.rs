//! `hapax stats`: counts, backlogs and duplicates of a running service.

pub mod duplicates;
mod ten_minutes;
pub(super) mod traffic;

use std::time::Duration;

use hapax_core::store::TimeRange;

use super::destinations::state;
use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::Parameters;
use hapax_api::readable;
use hapax_api::views::{DestinationStatsView, SourceStatsView, StatsView};
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// Show counts, backlogs and duplicates.
///
/// Received events are counted since the service started; backlog, dead letters and ledger entries are those that the
/// store holds now. The last ten minutes cover only the process that answers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax stats
  hapax stats --range 24h
  hapax stats duplicates
  hapax stats --json")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Also show traffic over the last hour, day or week: 1h, 24h or 7d
    #[arg(long, value_name = "RANGE")]
    pub range: Option<TimeRange>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show the duplicate rate of each source, how late its duplicates arrive, and whether its ids are reliable
    ///
    /// For each source: the duplicate rate, a histogram of the gap between an event and its duplicates, the largest gap
    /// compared with the ledger window and a recommendation, the ids with most duplicates, and possible problems at the
    /// provider. Counts cover all processes; if a process crashed, its last ten seconds may be missing. The figures of
    /// single ids are exact.
    Duplicates(duplicates::Args),
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    match args.command {
        Some(Command::Duplicates(args)) => duplicates::run(args, globals).await,
        None => counts(args.range, globals).await,
    }
}

async fn counts(over: Option<TimeRange>, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let path = Parameters::default()
        .with("range", over.map(TimeRange::as_str))
        .on("stats");
    let stats: StatsView = client.get(&path).await?;
    if globals.json {
        output::json(&stats)?;
    } else {
        output::line(text(&stats, Reader::of_stdout()))?;
        let recent = ten_minutes::text(&stats.ten_minutes, Reader::of_stdout());
        output::line(format_args!("\n{recent}"))?;
        if let Some(traffic) = &stats.traffic {
            output::line(format_args!("\n{}", traffic::text(traffic, Reader::of_stdout())))?;
        }
    }
    Ok(())
}

fn text(stats: &StatsView, reader: Reader) -> String {
    let up = readable::duration(Duration::from_secs(stats.uptime_seconds));
    let store = stats.store.as_ref().map_or_else(String::new, |store| {
        format!(
            "store {}: {} events kept, {} ids remembered\n",
            readable::size(store.bytes),
            store.events,
            store.ledger_entries
        )
    });
    let retention = stats.retention.as_ref().map_or_else(String::new, |retention| {
        format!(
            "retention deleted {} events and {} ids since the start\n",
            retention.events_deleted, retention.ledger_deleted
        )
    });
    format!(
        "hapax {}, up {up}\n{store}{retention}\n{}\n\n{}",
        stats.version,
        sources(&stats.sources, reader),
        destinations(&stats.destinations, reader),
    )
}

fn sources(sources: &[SourceStatsView], reader: Reader) -> String {
    let header = [
        "source",
        "received",
        "accepted",
        "duplicates",
        "conflicts",
        "rejected",
        "dedupe",
        "ledger",
    ];
    let mut table = Table::new(header);
    for source in sources {
        table.row([
            source.source.clone(),
            source.received.to_string(),
            source.accepted.to_string(),
            source.duplicates.to_string(),
            source.conflicts.to_string(),
            source.rejected.to_string(),
            source
                .dedupe_ratio
                .map_or_else(|| "-".to_owned(), |ratio| format!("{:.1}%", ratio * 100.0)),
            source.ledger_entries.to_string(),
        ]);
    }
    table.render(reader)
}

fn destinations(destinations: &[DestinationStatsView], reader: Reader) -> String {
    let header = [
        "destination",
        "pending",
        "running",
        "retrying",
        "held",
        "dead",
        "oldest",
        "state",
    ];
    let mut table = Table::new(header);
    for destination in destinations {
        table.row([
            destination.destination.clone(),
            destination.pending.to_string(),
            destination.running.to_string(),
            destination.retrying.to_string(),
            destination.held.to_string(),
            destination.dead.to_string(),
            reader.moments().show_option(destination.oldest_unfinished_at),
            state(
                destination.configured,
                destination.paused.as_ref(),
                destination.breaker_open_ms,
            ),
        ]);
    }
    table.render(reader)
}

#[cfg(test)]
mod tests {
    use hapax_core::Timestamp;

    use super::*;
    use hapax_api::moment::Moments;

    #[test]
    fn stats_fit_a_terminal_and_name_what_is_wrong() {
        let destination = |name: &str, configured, paused: serde_json::Value, breaker: Option<u64>| {
            serde_json::json!({"destination": name, "destination_id": name, "configured": configured, "pending": 3,
                "running": 1, "retrying": 2, "held": 0, "dead": 4, "oldest_unfinished_at": "2026-01-01T00:00:00Z",
                "paused": paused, "breaker_open_ms": breaker})
        };
        let pause = serde_json::json!({"destination_id": "b", "at": "2026-01-01T00:00:00Z", "by": "ada", "why": "move"});
        let stats: StatsView = serde_json::from_value(serde_json::json!({
            "version": "0.1.0", "started_at": "2026-01-01T00:00:00Z", "uptime_seconds": 7200,
            "sources": [{"source": "stripe", "received": 10, "accepted": 4, "duplicates": 4, "conflicts": 0,
                "rejected": 2, "dedupe_ratio": 0.5, "ledger_entries": 4}],
            "destinations": [destination("a", true, serde_json::Value::Null, None), destination("b", true, pause, None),
                destination("c", true, serde_json::Value::Null, Some(5_000)),
                destination("d", false, serde_json::Value::Null, None)],
            "store": {"events": 4, "ledger_entries": 4, "bytes": 40960},
            "retention": {"events_deleted": 1, "ledger_deleted": 0},
        }))
        .unwrap();
        let moments = Moments::Relative(Timestamp::from_seconds(1_767_225_660));
        insta::assert_snapshot!(text(&stats, Reader::Person { width: Some(100), moments }), @r"
        hapax 0.1.0, up 2 h
        store 40 KiB: 4 events kept, 4 ids remembered
        retention deleted 1 events and 0 ids since the start

        SOURCE  RECEIVED  ACCEPTED  DUPLICATES  CONFLICTS  REJECTED  DEDUPE  LEDGER
        stripe  10        4         4           0          2         50.0%   4

        DESTINATION  PENDING  RUNNING  RETRYING  HELD  DEAD  OLDEST     STATE
        a            3        1        2         0     4     1 min ago  ok
        b            3        1        2         0     4     1 min ago  paused by ada: move
        c            3        1        2         0     4     1 min ago  failing, next attempt in 5 s
        d            3        1        2         0     4     1 min ago  not configured
        ");
    }
}
