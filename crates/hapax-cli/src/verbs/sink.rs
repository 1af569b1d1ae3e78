//! `hapax sink` (hidden): the destination that `hapax bench` delivers to.

use std::net::SocketAddr;

use crate::exit::CliError;
use hapax_load::child;
use hapax_load::sink::{Effects, Faults, Sink};
use hapax_terminal::output;

/// Serve a destination that applies an effect once for each `Idempotency-Key` and counts, until stdin closes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax sink --listen 127.0.0.1:3000
  curl http://127.0.0.1:3000/effects")]
pub struct Args {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

/// Runs the verb.
pub async fn run(args: Args) -> Result<(), CliError> {
    let sink = Sink::start(args.listen, Effects::default(), Faults::NONE).await?;
    output::line(sink.address())?;
    child::parent_gone().await;
    Ok(())
}
