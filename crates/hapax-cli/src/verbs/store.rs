//! `hapax store`: operations on a whole store.

pub mod migrate;

use crate::exit::CliError;
use crate::globals::Globals;

/// Migrate the store to another backend.
///
/// Stop the service first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax store migrate --to postgres://hapax@db.internal/hapax
  hapax store migrate --from sqlite:old.db --to sqlite:new.db")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

/// The help text of each command is on its `Args`: a doc comment here would replace the long help there.
#[derive(Debug, clap::Subcommand)]
enum Command {
    Migrate(migrate::Args),
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    match args.command {
        Command::Migrate(args) => migrate::run(args, globals).await,
    }
}
