//! `hapax soak` (hidden): mixed load and random faults for as long as you like; `just soak 30m` runs it.

use std::time::Duration;

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_api::duration::parse_duration;
use hapax_config::StoreUrl;
use hapax_load::workspace::{Afterwards, Workspace};
use hapax_load::{interrupt, soak};
use hapax_terminal::output;

/// Send events through kills and stops to a failing sink, count effects, and watch memory and descriptors.
///
/// Exits with 1 if an event was lost or doubled, or if memory or descriptors grew.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax soak --for 30m
  hapax soak --for 2h --store postgres://… --json")]
pub struct Args {
    /// Duration of the soak
    #[arg(long = "for", value_name = "DURATION", default_value = "30m", value_parser = parse_duration)]
    pub duration: Duration,

    /// Store to use [default: a temporary SQLite file]
    #[arg(long, value_name = "URL")]
    pub store: Option<StoreUrl>,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let workspace = Workspace::create(&std::env::temp_dir(), Afterwards::Remove)?;
    let plan = soak::Plan {
        duration: args.duration,
        store: args.store.as_ref().map(StoreUrl::absolute).transpose()?,
    };
    let report = interrupt::guard(soak::run(&plan, &workspace)).await?;
    if globals.json {
        output::json(&report)?;
    } else {
        soak::print(&report)?;
    }
    if report.passed {
        Ok(())
    } else {
        Err(CliError::silent(Exit::Failed))
    }
}
