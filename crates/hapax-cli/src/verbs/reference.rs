//! `hapax reference`: the pages under `docs/reference/`, generated from the code so that they cannot drift.

mod api;
mod cli;
mod config;
mod errors;
mod metrics;
mod providers;
mod query;

use clap::ValueEnum;

use crate::exit::CliError;
use hapax_terminal::output;

/// Print a page of docs/reference/.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax reference config > docs/reference/config.md")]
pub struct Args {
    /// Page to print
    #[arg(value_enum, value_name = "PAGE")]
    pub page: Page,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Page {
    /// Every path of the admin API
    Api,
    /// Every key of hapax.toml
    Config,
    /// Every verb and flag
    Cli,
    /// Every problem code and exit code
    Errors,
    /// Every metric
    Metrics,
    /// Every provider of the catalogue
    Providers,
    /// The query language
    Query,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    let page = match args.page {
        Page::Api => api::page(),
        Page::Config => config::page(),
        Page::Cli => cli::page(),
        Page::Errors => errors::page(),
        Page::Metrics => metrics::page(),
        Page::Providers => providers::page(),
        Page::Query => query::page(),
    };
    Ok(output::raw(page.as_bytes())?)
}

/// The first lines of every page.
fn heading(title: &str, page: &str) -> String {
    format!(
        "# {title}\n\n<!-- Generated: `hapax reference {page} > docs/reference/{page}.md`. Do not edit. -->\n"
    )
}
