//! `hapax stats`: counts, backlogs and duplicates of a running service.

use super::when::When;
use super::Globals;
use crate::exit::CliError;

/// Show counts, backlogs and duplicates.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax stats
  hapax stats duplicates --source stripe")]
pub struct Args {
    /// What to show.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to show besides the counts.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show which senders deliver how often again, and after how long
    Duplicates(DuplicatesArgs),
}

/// The flags of `stats duplicates`.
#[derive(Debug, clap::Args)]
pub struct DuplicatesArgs {
    /// Only of this source
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,

    /// Only events received at or after this time: RFC 3339, or how long ago (`2h`)
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax stats` is not part of this build"))).await
}
