//! `hapax overview`: the service at a glance.

use hapax_core::store::TimeRange;

use super::stats::traffic;
use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::views::OverviewView;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, printable};

/// Show what needs attention, and recent traffic.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax overview
  hapax overview --range 7d --json | jq .attention")]
pub struct Args {
    /// Time range to show: 1h, 24h or 7d
    #[arg(long, value_name = "RANGE", default_value = "24h")]
    pub range: TimeRange,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let path = format!("overview?range={}", args.range.as_str());
    let view: OverviewView = client.get(&path).await?;
    if globals.json {
        return Ok(output::json(&view)?);
    }
    if view.attention.is_empty() {
        output::line("nothing needs attention")?;
    }
    for attention in &view.attention {
        output::line(printable(&attention.sentence))?;
    }
    let dedupe = view.dedupe_ratio.map_or_else(String::new, |ratio| {
        format!(", {:.1}% of it duplicates", ratio * 100.0)
    });
    output::line(format_args!(
        "\nreceived {}{dedupe}: {} accepted, {} duplicates, {} conflicts, {} rejected",
        view.received, view.accepted, view.duplicates, view.conflicts, view.rejected
    ))?;
    Ok(output::line(traffic::text(&view.traffic, Reader::of_stdout()))?)
}
