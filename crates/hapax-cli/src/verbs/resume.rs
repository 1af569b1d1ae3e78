//! `hapax resume`: resume delivering to a paused destination.

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::segment;
use hapax_api::views::ResumedView;
use hapax_terminal::output;

/// Resume delivering to a paused destination.
///
/// Queued deliveries resume within the destination's rate limit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax resume billing")]
pub struct Args {
    /// Destination to resume
    #[arg(value_name = "DESTINATION")]
    pub destination: String,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let path = format!("destinations/{}/resume", segment(&args.destination));
    let nothing = serde_json::json!({});
    let resumed: ResumedView = client.post(&path, &nothing).await?;
    if globals.json {
        output::json(&resumed)?;
    } else if resumed.was_paused {
        output::note(format_args!("{} is no longer paused", args.destination));
    } else {
        output::note(format_args!("{} was not paused", args.destination));
    }
    Ok(())
}
