//! `hapax stats duplicates`: which sources send duplicates, how late, and whether their ids can be trusted.

use std::time::Duration;

use hapax_core::store::TimeRange;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::Parameters;
use hapax_api::readable;
use hapax_api::views::{DuplicateStatsView, GapClassView, RedeliveredView, SourceDuplicatesView};
use hapax_terminal::output;
use hapax_terminal::spark;
use hapax_terminal::table::{Reader, Table, printable};

/// Width of the longest histogram bar, in columns.
const BAR_COLUMNS: u64 = 30;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax stats duplicates
  hapax stats duplicates stripe --range 24h
  hapax stats duplicates --json")]
pub struct Args {
    /// Only this source
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,

    /// Time range to show: 1h, 24h or 7d
    #[arg(long, value_name = "RANGE", default_value = "7d")]
    pub range: TimeRange,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let path = Parameters::default()
        .with("range", Some(args.range.as_str()))
        .with("source", args.source)
        .on("stats/duplicates");
    let stats: DuplicateStatsView = client.get(&path).await?;
    if globals.json {
        return Ok(output::json(&stats)?);
    }
    Ok(output::line(text(&stats, Reader::of_stdout()))?)
}

fn text(stats: &DuplicateStatsView, reader: Reader) -> String {
    let mut parts = vec![
        format!(
            "the last {}, since {}",
            stats.range.as_str(),
            reader.moments().show(stats.since)
        ),
        summary(&stats.sources, reader),
        sentences(&stats.sources),
    ];
    for source in stats.sources.iter().filter(|source| source.duplicates > 0) {
        parts.push(format!(
            "{}: duplicates by delay after the first",
            printable(&source.source)
        ));
        parts.push(gaps(&source.gaps, reader));
        parts.push(format!(
            "{}: ids with the most duplicates",
            printable(&source.source)
        ));
        parts.push(redelivered(&source.redelivered, reader));
    }
    parts.push(stats.note.clone());
    parts.join("\n\n")
}

fn summary(sources: &[SourceDuplicatesView], reader: Reader) -> String {
    let mut table = Table::new([
        "source",
        "received",
        "accepted",
        "duplicates",
        "dedupe",
        "conflicts",
        "same body",
        "gap p50",
        "gap p95",
        "largest",
        "duplicates over time",
    ]);
    for source in sources {
        table.row([
            source.source.clone(),
            source.received.to_string(),
            source.accepted.to_string(),
            source.duplicates.to_string(),
            source
                .dedupe_ratio
                .map_or_else(dash, |ratio| format!("{:.1}%", ratio * 100.0)),
            source.conflicts.to_string(),
            source.same_bodies.to_string(),
            source.gap.p50_ms.map_or_else(dash, |gap| millis(gap as u64)),
            source.gap.p95_ms.map_or_else(dash, |gap| millis(gap as u64)),
            if source.duplicates > 0 {
                millis(source.gap_ms_max)
            } else {
                dash()
            },
            spark::line(&source.duplicates_series),
        ]);
    }
    table.render(reader)
}

/// A sentence on each source's window, and its other findings.
fn sentences(sources: &[SourceDuplicatesView]) -> String {
    let mut lines = Vec::new();
    for source in sources {
        lines.push(printable(&source.window.sentence));
        // The finding about the window is already in its sentence.
        let others = source
            .findings
            .iter()
            .filter(|finding| finding.sentence != source.window.sentence);
        lines.extend(others.map(|finding| printable(&format!("{}: {}", source.source, finding.sentence))));
    }
    lines.join("\n")
}

fn gaps(classes: &[GapClassView], reader: Reader) -> String {
    let most = classes
        .iter()
        .map(|class| class.duplicates)
        .max()
        .unwrap_or(0)
        .max(1);
    let mut table = Table::new(["gap", "duplicates", "share"]);
    for class in classes {
        let columns = (class.duplicates * BAR_COLUMNS).div_ceil(most);
        table.row([
            class.label.clone(),
            class.duplicates.to_string(),
            "█".repeat(columns as usize),
        ]);
    }
    table.render(reader)
}

fn redelivered(ids: &[RedeliveredView], reader: Reader) -> String {
    let mut table = Table::new(["event id", "duplicates", "first", "last", "largest gap"]);
    for one in ids {
        table.row([
            one.event_id.clone(),
            one.duplicates.map_or_else(
                || format!("up to {}", one.duplicates_at_most),
                |duplicates| duplicates.to_string(),
            ),
            reader.moments().show_option(one.first_at),
            reader.moments().show_option(one.last_at),
            one.gap_ms_max.map_or_else(dash, millis),
        ]);
    }
    table.render(reader)
}

fn millis(count: u64) -> String {
    readable::duration(Duration::from_millis(count))
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use hapax_core::Timestamp;

    use super::*;
    use hapax_api::moment::Moments;

    fn stats() -> DuplicateStatsView {
        serde_json::from_value(serde_json::json!({
            "range": "24h", "since": "2026-01-01T00:00:00Z", "note": "A crash may hide the last of them.",
            "sources": [{
                "source": "stripe", "received": 14, "accepted": 4, "duplicates": 9, "conflicts": 1, "dedupe_ratio": 0.64,
                "gaps": [{"label": "up to 1 s", "up_to_seconds": 1, "duplicates": 6}, {"label": "more", "up_to_seconds": null, "duplicates": 3}],
                "gap": {"count": 9, "p50_ms": 900.0, "p95_ms": 60000.0, "p99_ms": 60000.0}, "gap_ms_max": 255_600_000,
                "window": {"ledger_window_seconds": 2_592_000, "least_seconds": 345_600, "used": 0.1, "advice": "fine",
                    "recommended_seconds": null, "sentence": "stripe: largest gap 71 h, window 30 d: fine"},
                "redelivered": [
                    {"event_id": "evt_1", "id": "01940000-0000-7000-8000-000000000001", "duplicates": 7, "duplicates_at_most": 7,
                        "first_at": "2026-01-01T00:00:00Z", "last_at": "2026-01-01T00:00:30Z", "gap_ms_max": 30000},
                    {"event_id": "evt_\u{1b}2", "id": null, "duplicates": null, "duplicates_at_most": 2, "first_at": null, "last_at": null,
                        "gap_ms_max": null}],
                "same_bodies": 0, "findings": [{"kind": "reused_ids", "sentence": "once another body came"}],
                "accepted_series": [1, 3], "duplicates_series": [0, 9],
            }],
        }))
        .unwrap()
    }

    #[test]
    fn a_source_is_named_with_its_gaps_its_window_and_its_ids() {
        let moments = Moments::Relative(Timestamp::from_seconds(1_767_225_660));
        let reader = Reader::Person {
            width: Some(120),
            moments,
        };
        insta::assert_snapshot!(text(&stats(), reader), @r"
        the last 24h, since 1 min ago

        SOURCE  RECEIVED  ACCEPTED  DUPLICATES  DEDUPE  CONFLICTS  SAME BODY  GAP P50  GAP P95  LARGEST  DUPLICATES OVER TIME
        stripe  14        4         9           64.0%   1          0          900 ms   1 min    71 h     ·█

        stripe: largest gap 71 h, window 30 d: fine
        stripe: once another body came

        stripe: duplicates by delay after the first

        GAP        DUPLICATES  SHARE
        up to 1 s  6           ██████████████████████████████
        more       3           ███████████████

        stripe: ids with the most duplicates

        EVENT ID     DUPLICATES  FIRST      LAST      LARGEST GAP
        evt_1        7           1 min ago  30 s ago  30 s
        evt_\u{1b}2  up to 2     -          -         -

        A crash may hide the last of them.
        ");
    }

    #[test]
    fn what_a_sender_wrote_cannot_move_the_cursor() {
        assert!(!text(&stats(), Reader::Program).contains('\u{1b}'));
    }
}
