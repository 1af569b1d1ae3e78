//! `hapax attack` (hidden): the attacker of `hapax bench --hostile`, in its own process.

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
    /// Service to attack; it must be on this machine
    #[arg(long)]
    pub address: SocketAddr,

    /// Path to request
    #[arg(long, default_value = "/in/stripe")]
    pub path: String,

    /// Address to connect from
    #[arg(long, default_value = "127.0.0.2")]
    pub from: IpAddr,

    /// Number of connections
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub connections: u32,
}

pub async fn run(args: Args) -> Result<(), CliError> {
    if !args.address.ip().is_loopback() {
        return Err(CliError::usage(format!(
            "{} is not on this machine; an attack may only target your own service on a loopback address",
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
        // Attacks that are still running end with the process.
        () = child::parent_gone() => std::process::exit(0),
    }
}
