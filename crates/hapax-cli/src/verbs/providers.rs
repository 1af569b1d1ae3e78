//! `hapax providers`: the catalogue of presets.
//!
//! `document` renders a preset as JSON, `text` as a page for people; `words` has the phrases that both use.

mod document;
mod text;
pub mod words;

use hapax_verify::catalogue;
use serde_json::{Value, json};

use crate::exit::CliError;
use crate::globals::Globals;
use hapax_config::nearest;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// Show the providers that Hapax knows.
///
/// Without a name: one line each. With a name: its signature scheme, where the event id is and how reliable it is, how
/// long it retries, which handshakes it expects, and how well each of these is known (A: read in the provider's own
/// documentation or source; B: several implementations agree; C: not verified).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax providers
  hapax providers stripe --json")]
pub struct Args {
    /// Show only this provider, in full
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[expect(clippy::unused_async, reason = "every verb is called the same way")]
pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let Some(name) = args.name else {
        return list(globals);
    };
    let provider = catalogue::get(&name).ok_or_else(|| unknown(&name))?;
    if globals.json {
        output::json(&document::of(provider))?;
    } else {
        output::line(text::of(provider))?;
    }
    Ok(())
}

fn list(globals: &Globals) -> Result<(), CliError> {
    if globals.json {
        let providers: Vec<Value> = catalogue::all().iter().map(document::of).collect();
        return Ok(output::json(&json!({ "providers": providers }))?);
    }
    Ok(output::line(table(Reader::of_stdout()))?)
}

fn table(reader: Reader) -> String {
    let mut table = Table::new([
        "name",
        "provider",
        "scheme",
        "event id",
        "retries for",
        "handshake",
        "confidence",
    ]);
    for provider in catalogue::all() {
        table.row([
            provider.name.clone(),
            provider.title.clone(),
            provider.proof.summary(),
            provider.identity.event_id.to_string(),
            words::retry_window(provider),
            words::handshake_mark(provider).to_owned(),
            words::confidence(provider.confidence),
        ]);
    }
    table.render(reader)
}

fn unknown(name: &str) -> CliError {
    let names = catalogue::all().iter().map(|provider| provider.name.as_str());
    let meant = nearest(name, names)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    CliError::not_found(format!(
        "there is no provider `{name}`{meant} (`hapax providers` lists them; `verify` in hapax.toml describes any other)"
    ))
}
