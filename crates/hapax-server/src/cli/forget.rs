//! `hapax forget`: take an event id out of the ledger.

use super::Globals;
use crate::exit::CliError;

/// Forget an event id, so that its next delivery takes effect again.
///
/// Refused while work for the event is unfinished. What was stored stays; the next delivery gets new
/// idempotency keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax forget stripe evt_1NG8Du2eZvKYlo2CUI79vXWy --reason 'delivered before the fix'")]
pub struct Args {
    /// The source that received it
    #[arg(value_name = "SOURCE")]
    pub source: String,

    /// The sender's id of the event
    #[arg(value_name = "EVENT_ID")]
    pub event_id: String,

    /// Why; it is kept in the audit log
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax forget` is not part of this build"))).await
}
