//! `hapax sink` (hidden): the destination that `hapax bench` delivers to.

use std::net::SocketAddr;

use crate::exit::CliError;
use hapax_load::child;
use hapax_load::sink::{Effects, Faults, Sink};
use hapax_terminal::output;

/// Serve a destination that counts deliveries and applies one effect per `Idempotency-Key`, until stdin closes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax sink --listen 127.0.0.1:3000
  curl http://127.0.0.1:3000/effects")]
pub struct Args {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

pub async fn run(args: Args) -> Result<(), CliError> {
    let sink = Sink::start(args.listen, Effects::default(), Faults::NONE).await?;
    output::line(sink.address())?;
    child::parent_gone().await;
    Ok(())
}
