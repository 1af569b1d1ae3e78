//! `hapax verify`: explains step by step why a delivery verifies or fails, and names the likely mistake.
//!
//! `subject` finds the verifier, `report` describes the result, `vectors` runs files of deliveries.

mod report;
mod subject;
mod vectors;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use hapax_core::{Clock as _, Secret, SystemClock};
use hapax_verify::Request;

use super::{body, option};
use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use report::Report;
use subject::Subject;

/// Explain why a delivery verifies or fails, and show its event.
///
/// Takes a provider or a configured source. Exits with 0 if the delivery is valid; otherwise names the likely mistake
/// and exits with 5. With `--vectors`, runs files of sample deliveries and lists unexpected results.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax verify stripe --secret env:STRIPE_SECRET --header 'Stripe-Signature: t=…,v1=…' body.json
  hapax verify github --header 'X-Hub-Signature-256: sha256=…' --header 'X-GitHub-Delivery: 1' - < body.json
  hapax verify --vectors tests/vectors/*.json")]
pub struct Args {
    /// Provider, or configured source
    #[arg(value_name = "PROVIDER_OR_SOURCE", required_unless_present = "vectors")]
    pub target: Option<String>,

    /// Body as received, byte for byte; `-` reads stdin
    #[arg(value_name = "BODYFILE", required_unless_present = "vectors")]
    pub body: Option<PathBuf>,

    /// Secret: `env:NAME`, `file:PATH`, `exec:COMMAND` or the secret itself; may be repeated [default: the source's]
    #[arg(long, value_name = "SECRET", value_parser = crate::globals::secret)]
    pub secret: Vec<Secret>,

    /// Previous secret, tried only to identify the mistake; may be repeated
    #[arg(long, value_name = "SECRET", value_parser = crate::globals::secret)]
    pub older_secret: Vec<Secret>,

    /// Option of the provider; may be repeated (`hapax providers NAME` lists them)
    #[arg(long, value_name = "NAME=VALUE")]
    pub option: Vec<option::Given>,

    /// Key that would otherwise be fetched; may be repeated
    #[arg(long, value_name = "ID=FILE")]
    pub key: Vec<String>,

    /// Public URL that the provider was given [default: the source's, from `public_url`]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// HTTP method
    #[arg(long, value_name = "METHOD", default_value = "POST")]
    pub method: String,

    /// Header as received; may be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    pub header: Vec<(String, String)>,

    /// When the delivery arrived, in Unix seconds [default: now]
    #[arg(long, value_name = "UNIX", allow_negative_numbers = true)]
    pub now: Option<i64>,

    /// Run these vector files instead
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["target", "body"])]
    pub vectors: Vec<PathBuf>,
}

#[expect(clippy::unused_async, reason = "every verb is called the same way")]
pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let (Some(target), Some(file)) = (&args.target, &args.body) else {
        return vectors::run(&args.vectors, globals);
    };
    let subject = Subject::find(target, &args, globals)?;
    let body = body::read(file)?;
    let keys = keys(&args.key)?;
    let request = Request::new(&args.header, &body, args.now.unwrap_or_else(unix_seconds))
        .method(&args.method)
        .url(&subject.url)
        .keys(&keys);
    let report = Report::of(&subject, &request);
    report.print(globals)?;
    if report.is_valid() {
        Ok(())
    } else {
        Err(CliError::silent(Exit::ProblemFound))
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| "it has no `:`; write 'NAME: VALUE'".to_owned())?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn keys(given: &[String]) -> Result<BTreeMap<String, Vec<u8>>, CliError> {
    let key = |text: &String| {
        // An id may be a URL with `=` in it; a file name seldom has one.
        let (id, file) = text
            .rsplit_once('=')
            .ok_or_else(|| CliError::usage(format!("--key `{text}` has no `=`; write ID=FILE")))?;
        let bytes = std::fs::read(file).with_context(|| format!("the key could not be read from {file}"))?;
        Ok((id.to_owned(), bytes))
    };
    given.iter().map(key).collect()
}

fn unix_seconds() -> i64 {
    SystemClock::default().now().as_seconds()
}
