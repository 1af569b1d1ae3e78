//! `hapax register`: accept a provider's signing secret.

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::duration::parse_duration;
use hapax_api::path::segment;
use hapax_api::views::RegistrationView;
use hapax_terminal::output;

/// Accept the signing secret that a provider such as Asana sends when a webhook is created.
///
/// The provider sends the secret once, in the first request of a new webhook. Anyone could send such a request, so
/// Hapax accepts one only while a registration is open, and only the first. The secret is stored encrypted and shared
/// by all replicas.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax register asana --for 10m     then create the webhook at Asana, with the URL of the source")]
pub struct Args {
    /// Source to register
    #[arg(value_name = "SOURCE")]
    pub source: String,

    /// How long the registration stays open, such as `10m`; at most a day
    #[arg(long = "for", value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub open_for: std::time::Duration,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let path = format!("sources/{}/registration", segment(&args.source));
    let body = serde_json::json!({ "for_seconds": args.open_for.as_secs() });
    let opened: RegistrationView = client.post(&path, &body).await?;
    if globals.json {
        output::json(&opened)?;
    } else {
        output::note(format_args!(
            "{} accepts one secret until {}; create the webhook at the provider now",
            opened.source, opened.open_until
        ));
    }
    Ok(())
}
