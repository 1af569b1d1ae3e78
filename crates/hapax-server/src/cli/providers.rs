//! `hapax providers`: the catalogue of presets.

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::scheme::{HeaderFormat, TimestampPlace};
use serde_json::{Value, json};

use super::Globals;
use crate::client::table::{Reader, Table};
use crate::config::nearest;
use crate::exit::CliError;
use crate::output;

/// Show the providers that Hapax knows.
///
/// Without a name: one line each. With a name: its signature scheme, where the event id is, and for how long
/// it delivers again.
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

/// Runs the verb.
#[expect(clippy::unused_async, reason = "every verb is called the same way")]
pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let Some(name) = args.name else {
        return list(globals);
    };
    let provider = catalogue::get(&name).ok_or_else(|| unknown(&name))?;
    if globals.json {
        output::json(&document(provider))?;
    } else {
        output::line(text(provider))?;
    }
    Ok(())
}

fn list(globals: &Globals) -> Result<(), CliError> {
    if globals.json {
        let providers: Vec<Value> = catalogue::all().iter().map(document).collect();
        return Ok(output::json(&json!({ "providers": providers }))?);
    }
    Ok(output::line(table(Reader::of_stdout()))?)
}

fn table(reader: Reader) -> String {
    let mut table = Table::new([
        "name",
        "provider",
        "signature",
        "event id",
        "delivers again for",
        "handshake",
    ]);
    for provider in catalogue::all() {
        table.row([
            provider.name.clone(),
            provider.title.clone(),
            algorithms(provider),
            provider.identity.event_id.to_string(),
            retry_window(provider),
            if provider.handshake.is_some() {
                "yes".to_owned()
            } else {
                "-".to_owned()
            },
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

fn document(provider: &Provider) -> Value {
    let scheme = provider.proof.scheme();
    let timestamp = scheme.and_then(|scheme| scheme.timestamp.as_ref());
    json!({
        "name": provider.name,
        "title": provider.title,
        "docs": provider.docs,
        "signature": {
            "summary": provider.proof.summary(),
            "headers": provider.proof.headers(),
            "format": scheme.map(|scheme| format_name(&scheme.format)),
            "timestamp": timestamp.map(|rule| timestamp_place(&rule.place)),
            "tolerance_seconds": provider.proof.tolerance_seconds(),
        },
        "event_id": provider.identity.event_id.to_string(),
        "event_type": provider.identity.event_type.as_ref().map(ToString::to_string),
        "id_is_signed": provider.delivery.id_is_signed,
        "id_stability": provider.delivery.id_stability,
        "retry_window_hours": provider.delivery.retry_window_hours,
        "retry_policy": provider.delivery.retry_policy,
        "timeout_seconds": provider.delivery.timeout_seconds,
        "handshake": provider.handshake,
        "notes": provider.notes,
    })
}

fn text(provider: &Provider) -> String {
    let scheme = provider.proof.scheme();
    let mut lines = vec![format!("{} ({})", provider.title, provider.name)];
    let mut field = |name: &str, value: String| lines.push(format!("{name:<14}{value}"));
    field(
        "signature",
        format!(
            "{} in {}",
            algorithms(provider),
            provider.proof.headers().join(" or ")
        ),
    );
    if let Some(rule) = scheme.and_then(|scheme| scheme.timestamp.as_ref()) {
        field(
            "timestamp",
            format!(
                "{}, within {} s",
                timestamp_place(&rule.place),
                rule.tolerance_seconds
            ),
        );
    }
    field("event id", provider.identity.event_id.to_string());
    if let Some(fields) = &provider.identity.event_type {
        field("event type", fields.to_string());
    }
    let signed = if provider.delivery.id_is_signed {
        "covered by the signature"
    } else {
        "NOT covered by the signature"
    };
    field("", format!("{}; {signed}", provider.delivery.id_stability));
    field(
        "retries",
        format!("{} ({})", retry_window(provider), provider.delivery.retry_policy),
    );
    if let Some(seconds) = provider.delivery.timeout_seconds {
        field("waits", format!("{seconds} s for an answer"));
    }
    field(
        "handshake",
        provider.handshake.clone().unwrap_or_else(|| "none".to_owned()),
    );
    for note in &provider.notes {
        field("note", note.clone());
    }
    for url in &provider.docs {
        field("docs", url.clone());
    }
    field(
        "in hapax.toml",
        format!("[sources.{0}] provider = \"{0}\"", provider.name),
    );
    lines.join("\n")
}

fn algorithms(provider: &Provider) -> String {
    let Some(scheme) = provider.proof.scheme() else {
        return provider.proof.summary();
    };
    let kinds = scheme.signatures.iter();
    let mut names: Vec<String> = kinds.map(|kind| kind.algorithm.to_string()).collect();
    names.dedup();
    names.join(", ")
}

fn retry_window(provider: &Provider) -> String {
    match provider.delivery.retry_window_hours {
        None => "unknown".to_owned(),
        Some(hours) if hours < 1.0 => format!("{:.0} min", hours * 60.0),
        Some(hours) => format!("{hours} h"),
    }
}

fn timestamp_place(place: &TimestampPlace) -> String {
    match place {
        TimestampPlace::Headers(names) => format!("header {}", names.join(" or ")),
        TimestampPlace::Key(key) => format!("`{key}` in the signature's header"),
    }
}

fn format_name(format: &HeaderFormat) -> &'static str {
    match format {
        HeaderFormat::Plain { .. } => "plain",
        HeaderFormat::KeyValue => "key-value",
        HeaderFormat::Labelled => "labelled",
    }
}
