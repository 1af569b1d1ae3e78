//! `hapax forget`: remove an event id from the ledger.

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::segment;
use hapax_api::views::ForgottenView;
use hapax_terminal::output;

/// Forget an event id, so that its next delivery takes effect again.
///
/// Refused while deliveries of the event are unfinished. Stored data stays; the next delivery gets new idempotency
/// keys. Takes about ten seconds, until no cache holds the old entry.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax forget stripe evt_1NG8Du2eZvKYlo2CUI79vXWy")]
pub struct Args {
    /// Source that received the event
    #[arg(value_name = "SOURCE")]
    pub source: String,

    /// Provider's event id, as shown by `hapax events list`
    #[arg(value_name = "EVENT_ID")]
    pub event_id: String,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let path = format!("ledger/{}/{}", segment(&args.source), segment(&args.event_id));
    let forgotten: ForgottenView = client.delete(&path).await?;
    if globals.json {
        output::json(&forgotten)?;
    } else {
        output::note(format_args!(
            "forgotten: the next event `{}` from {} is accepted as new, with generation {}",
            forgotten.event_id, forgotten.source, forgotten.next_generation
        ));
    }
    Ok(())
}
