//! `hapax send`: signs a delivery as a provider would, and sends it.

use std::path::PathBuf;

use hapax_core::Secret;

use super::Globals;
use crate::exit::CliError;

/// Sign a delivery as a provider would, and send it.
///
/// Names a source of the configuration, or a provider. Prints the answer to each copy.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax send stripe
  hapax send stripe --id evt_1 --times 5 --concurrency 5
  hapax send github --to http://127.0.0.1:8080/in/github --secret env:GITHUB_SECRET --body push.json")]
pub struct Args {
    /// A source of the configuration, or a provider
    #[arg(value_name = "PROVIDER_OR_SOURCE")]
    pub target: String,

    /// Where to send it [default: /in/<source> at `server.listen` of the configuration]
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,

    /// The signing secret: `env:NAME`, `file:PATH` or the secret itself [default: the source's first one]
    #[arg(long, value_name = "SECRET", value_parser = super::secret)]
    pub secret: Option<Secret>,

    /// The body; `-` reads stdin [default: a sample of the provider]
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,

    /// The event id to put into the sample [default: a new one]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,

    /// How many copies to send
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub times: u32,

    /// How many to send at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub concurrency: u32,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax send` is not part of this build"))).await
}
