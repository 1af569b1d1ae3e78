//! `hapax attack` (hidden): the strangers of `hapax bench --hostile`, as a process of their own.

use std::net::{IpAddr, SocketAddr};

use anyhow::Context as _;

use crate::exit::CliError;
use hapax_load::{attacker, child};
use hapax_terminal::output;

/// Attack a service with connections that send slowly, stall, or flood it with bad signatures, until stdin closes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax attack --address 127.0.0.1:8080 --path /in/stripe --connections 500")]
pub struct Args {
    /// The service; only one on this machine is attacked
    #[arg(long)]
    pub address: SocketAddr,

    /// The path
    #[arg(long, default_value = "/in/stripe")]
    pub path: String,

    /// The address to come from
    #[arg(long, default_value = "127.0.0.2")]
    pub from: IpAddr,

    /// How many connections
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub connections: u32,
}

/// Runs the verb.
pub async fn run(args: Args) -> Result<(), CliError> {
    if !args.address.ip().is_loopback() {
        return Err(CliError::usage(format!(
            "{} is not on this machine; an attack is only run against a service of one's own, on a loopback address",
            args.address
        )));
    }
    let plan = attacker::Plan {
        address: args.address,
        path: args.path,
        from: args.from,
        connections: args.connections,
    };
    let attacking = tokio::task::spawn_blocking(move || attacker::run(plan, || output::line("attacking")));
    tokio::select! {
        ended = attacking => Ok(ended.context("the attack failed")??),
        // What still attacks ends with the process.
        () = child::parent_gone() => std::process::exit(0),
    }
}
