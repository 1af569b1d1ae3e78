//! `hapax print`: documents of the production kit, made by the binary itself.

use clap::ValueEnum;

use crate::exit::CliError;
use crate::http::admin::openapi;
use crate::output;

/// Print a document that belongs to this version.
///
/// Needs no configuration and no running service.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax print openapi > openapi.json")]
pub struct Args {
    /// Which document
    #[arg(value_enum, value_name = "DOCUMENT")]
    pub document: Document,
}

/// A document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Document {
    /// The description of the admin API, OpenAPI 3.1
    Openapi,
}

/// Runs the verb.
pub fn run(args: &Args) -> Result<(), CliError> {
    match args.document {
        Document::Openapi => Ok(output::json(&openapi::document())?),
    }
}
