//! `hapax twice proxy`: delivers everything twice while an existing test suite runs.

use std::net::SocketAddr;

use hapax_twice::{Exchange, Proxy, Repeat};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_terminal::output;

/// Stand in front of a handler while its own tests run, and deliver every POST twice.
///
/// Your tests get the first response, and fail on their own if a duplicate had an effect. The proxy also prints each
/// POST whose duplicates got different statuses. Stop it with Ctrl-C or SIGTERM; exits with 5 if there was one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax twice proxy --listen 127.0.0.1:4000 --to http://127.0.0.1:3000
  hapax twice proxy --listen 127.0.0.1:4000 --to http://127.0.0.1:3000 --plan concurrent:4")]
pub struct Args {
    /// Address that the tests send to
    #[arg(long, value_name = "ADDRESS")]
    pub listen: SocketAddr,

    /// URL of the handler; its path is put before the path of each request
    #[arg(long, value_name = "URL")]
    pub to: String,

    /// How to repeat: `again` or `concurrent:N`
    #[arg(long, value_name = "PLAN", default_value = "again")]
    pub plan: Repeat,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let show = if globals.json { show_json } else { show_text };
    let proxy = Proxy::new(&args.to, args.plan)
        .map_err(|error| CliError::usage(error.to_string()))?
        .watch(show);
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|error| CliError::failed(format!("cannot listen on {}: {error}", args.listen)))?;
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    output::note(format_args!("listening on {}", listener.local_addr()?));
    let stop = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let tally = proxy.serve(listener, stop).await;
    if globals.json {
        output::json_line(&tally)?;
    } else {
        output::line(format_args!(
            "{} POSTs were repeated; the duplicates of {} were answered differently",
            tally.received, tally.differing
        ))?;
    }
    match tally.differing {
        0 => Ok(()),
        _ => Err(CliError::silent(Exit::ProblemFound)),
    }
}

fn show_json(exchange: &Exchange) {
    // A closed stdout is noticed when the tally is printed.
    let _ = output::json_line(exchange);
}

fn show_text(exchange: &Exchange) {
    let statuses = exchange
        .statuses
        .iter()
        .map(|status| status.map_or_else(|| "none".to_owned(), |status| status.to_string()));
    let statuses: Vec<String> = statuses.collect();
    let path = hapax_terminal::table::printable(&exchange.path);
    let _ = output::line(format_args!("POST {path}: answered {}", statuses.join(", ")));
}
