//! `hapax load` (hidden): the load client, which `hapax bench` runs as a separate process.

use std::net::SocketAddr;
use std::path::PathBuf;
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
    /// Address to send to
    #[arg(long)]
    pub address: SocketAddr,

    /// Path to send to
    #[arg(long, default_value = "/in/stripe")]
    pub path: String,

    /// Stripe signing secret
    #[arg(long, env = child::SECRET_VARIABLE, hide_env_values = true, value_parser = crate::globals::secret)]
    pub secret: Secret,

    /// Number of connections
    #[arg(long, default_value_t = 64)]
    pub connections: usize,

    /// Maximum duration, in seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=bench::SECONDS_MAX))]
    pub seconds: u64,

    /// Number of different deliveries
    #[arg(long, default_value_t = 100_000)]
    pub distinct: usize,

    /// Seed for the events; the same seed makes the same events
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Send only this many ids repeatedly, each time with a different body
    #[arg(long)]
    pub conflicting: Option<usize>,

    /// File with the ids to send in place of random ones: 12 bytes each
    #[arg(long, value_name = "FILE", conflicts_with = "conflicting")]
    pub ids: Option<PathBuf>,

    /// Start over after the last event, until the time is up
    #[arg(long)]
    pub repeat: bool,

    /// Maximum requests per second, evenly spaced [default: as fast as they are answered]
    #[arg(long)]
    pub rate: Option<u32>,
}

pub async fn run(args: Args) -> Result<(), CliError> {
    // One thread for everything: a second one would cost the server more than it gains the client.
    let report = tokio::task::spawn_blocking(move || measure(&args))
        .await
        .context("the load client failed")??;
    Ok(output::json_line(&report)?)
}

fn measure(args: &Args) -> anyhow::Result<Report> {
    let recipe = Recipe {
        address: args.address,
        path: &args.path,
        secret: args.secret.expose(),
        count: args.distinct,
        seed: args.seed,
        conflicting_ids: args.conflicting,
    };
    let prepared = match &args.ids {
        Some(file) => {
            let ids = std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
            Prepared::known(&recipe, &ids)?
        }
        None => Prepared::new(&recipe)?,
    };
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
