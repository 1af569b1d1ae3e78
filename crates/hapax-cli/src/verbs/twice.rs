//! `hapax twice`: the duplicate-delivery test for any handler.

pub mod proxy;
pub mod run;

use crate::exit::CliError;
use crate::globals::Globals;

/// Test any webhook handler for duplicate deliveries, in any language, over HTTP.
///
/// Delivers signed events in the ways in which duplicates arrive in real life, compares the changes in your database
/// with those of a single delivery, and reports deliveries that were doubled, lost or wrongly accepted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax twice run --to http://127.0.0.1:3000/webhooks --provider stripe --secret env:STRIPE_WEBHOOK_SECRET \\
      --snapshot 'psql -Atc \"select count(*), sum(amount) from payments\"'
  hapax twice proxy --listen 127.0.0.1:4000 --to http://127.0.0.1:3000")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

/// The ways to test. The help text of each is on its `Args`: a doc comment here would replace the long help there.
#[derive(Debug, clap::Subcommand)]
enum Command {
    Run(run::Args),
    Proxy(proxy::Args),
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    match args.command {
        Command::Run(args) => run::run(args, globals).await,
        Command::Proxy(args) => proxy::run(args, globals).await,
    }
}
