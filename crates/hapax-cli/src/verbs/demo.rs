//! `hapax demo`: proof that no event is lost and none takes effect twice.

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_config::StoreUrl;
use hapax_load::workspace::{Afterwards, Workspace};
use hapax_load::{demo, interrupt};
use hapax_terminal::output;

/// Prove it: send events several times, kill the service in the middle, count the effects.
///
/// Starts the service on a temporary store, and a real sink that now and then refuses, fails or hangs up. Sends N
/// signed events several times each, concurrently and in random order, kills (SIGKILL) and restarts the service in the
/// middle, and prints sent, accepted, duplicates, attempts, effects, lost and doubled. An effect is a delivery that the
/// sink applied, once per `Idempotency-Key`; a `sql` destination counts, too, in a table that would accept every event
/// twice. Exits with 1 unless lost and doubled are both 0 and no event arrived under two keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax demo
  hapax demo --events 20000 --kills 20 --json
  hapax demo --keep")]
pub struct Args {
    /// Number of different events to send
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub events: u32,

    /// Send each event between once and this many times in random order, and once more at the end
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub times: u32,

    /// Number of times to kill the service
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub kills: u32,

    /// Store to use [default: a temporary SQLite file]
    #[arg(long, value_name = "URL")]
    pub store: Option<StoreUrl>,

    /// Keep the store, the configuration and the sink's record, and print how to check them
    #[arg(long)]
    pub keep: bool,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let afterwards = if args.keep {
        Afterwards::Keep
    } else {
        Afterwards::Remove
    };
    let workspace = Workspace::create(&std::env::temp_dir(), afterwards)?;
    let plan = demo::Plan {
        events: args.events as usize,
        times_max: args.times as usize,
        kills: args.kills as usize,
        store: args.store.as_ref().map(StoreUrl::absolute).transpose()?,
    };
    let proof = interrupt::guard(demo::run(&plan, &workspace)).await?;
    if globals.json {
        output::json(&proof)?;
    } else {
        demo::print(&proof)?;
        demo::explain(&proof, afterwards);
    }
    if proof.passed {
        Ok(())
    } else {
        Err(CliError::silent(Exit::Failed))
    }
}
