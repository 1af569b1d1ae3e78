//! `hapax ceiling` (hidden): the bare handler that `hapax bench` compares with.

use std::net::SocketAddr;

use crate::exit::CliError;
use hapax_load::{ceiling, child};
use hapax_terminal::output;

/// Serve a handler that reads the body and nothing else, until stdin closes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax ceiling --listen 127.0.0.1:9000")]
pub struct Args {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

pub async fn run(args: Args) -> Result<(), CliError> {
    let listener = tokio::net::TcpListener::bind(args.listen).await?;
    output::line(listener.local_addr()?)?;
    // On a worker, like the service's listener, and not on the main thread.
    let server = tokio::spawn(ceiling::serve(listener));
    tokio::select! {
        ended = server => Ok(ended??),
        () = child::parent_gone() => Ok(()),
    }
}
