//! `hapax load` (hidden): the load client, as the process of its own that `hapax bench` runs.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use hapax_core::Secret;

use crate::exit::CliError;
use hapax_load::client::{self, Order, Plan};
use hapax_load::prepare::{Prepared, Recipe};
use hapax_load::report::Report;
use hapax_load::{bench, child};
use hapax_terminal::output;

/// Send signed deliveries over many connections, as fast as they are answered, and print one line of JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax load --address 127.0.0.1:8080 --path /in/stripe --connections 64 --seconds 5 --distinct 100000")]
pub struct Args {
    /// Where to
    #[arg(long)]
    pub address: SocketAddr,

    /// The path
    #[arg(long, default_value = "/in/stripe")]
    pub path: String,

    /// The Stripe signing secret
    #[arg(long, env = child::SECRET_VARIABLE, hide_env_values = true, value_parser = super::secret)]
    pub secret: Secret,

    /// How many connections
    #[arg(long, default_value_t = 64)]
    pub connections: usize,

    /// At most this long
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=bench::SECONDS_MAX))]
    pub seconds: u64,

    /// How many different deliveries
    #[arg(long, default_value_t = 100_000)]
    pub distinct: usize,

    /// Which ones: the same seed makes the same events
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Send only this many ids, again and again, each time with another body
    #[arg(long)]
    pub conflicting: Option<usize>,

    /// Begin again after the last event, until the time is over
    #[arg(long)]
    pub repeat: bool,

    /// At most this many requests a second, evenly [default: as fast as they are answered]
    #[arg(long)]
    pub rate: Option<u32>,
}

/// Runs the verb.
pub async fn run(args: Args) -> Result<(), CliError> {
    // One thread for everything: a second one would take from the server more than it gives the client.
    let report = tokio::task::spawn_blocking(move || measure(&args))
        .await
        .context("the load client failed")??;
    Ok(output::json_line(&report)?)
}

fn measure(args: &Args) -> anyhow::Result<Report> {
    let prepared = Prepared::new(&Recipe {
        address: args.address,
        path: &args.path,
        secret: args.secret.expose(),
        count: args.distinct,
        seed: args.seed,
        conflicting_ids: args.conflicting,
    })?;
    let plan = Plan {
        address: args.address,
        connections: args.connections,
        time_limit: Duration::from_secs(args.seconds),
        order: if args.repeat { Order::Repeat } else { Order::Once },
        rate: args.rate.filter(|rate| *rate > 0),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(client::run(prepared, &plan))
}
