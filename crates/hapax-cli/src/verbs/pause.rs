//! `hapax pause`: stop delivering to a destination.

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::segment;
use hapax_api::views::PauseView;
use hapax_terminal::output;

/// Stop delivering to a destination; events are still accepted.
///
/// In-flight attempts finish; queued ones wait, and nothing is lost. A pause survives restarts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax pause billing --why 'the database is being moved'")]
pub struct Args {
    /// Destination to pause
    #[arg(value_name = "DESTINATION")]
    pub destination: String,

    /// Reason; stored in the audit trail
    #[arg(long, alias = "reason", value_name = "TEXT", default_value = "")]
    pub why: String,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let path = format!("destinations/{}/pause", segment(&args.destination));
    let body = serde_json::json!({ "why": args.why });
    let paused: PauseView = client.post(&path, &body).await?;
    if globals.json {
        output::json(&paused)?;
    } else {
        let name = &args.destination;
        output::note(format_args!(
            "{name} is paused; events wait for it until `hapax resume {name}`"
        ));
    }
    Ok(())
}
