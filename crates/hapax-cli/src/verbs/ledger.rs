//! `hapax ledger`: whether, when and how often an id was seen.

use std::time::Duration;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::segment;
use hapax_api::readable;
use hapax_api::views::LedgerView;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, printable};

/// Show what the ledger knows about a provider's event id: when it first arrived, how many duplicates followed, and
/// when it expires.
///
/// Exits with 4 if the ledger does not know the id. `hapax forget` removes an id.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax ledger stripe evt_1NG8Du2eZvKYlo2CUI79vXWy
  hapax ledger stripe evt_1NG8Du2eZvKYlo2CUI79vXWy --json")]
pub struct Args {
    /// Source that received the event
    #[arg(value_name = "SOURCE")]
    pub source: String,

    /// Provider's event id
    #[arg(value_name = "EVENT_ID")]
    pub event_id: String,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let path = format!("ledger/{}/{}", segment(&args.source), segment(&args.event_id));
    let entry: LedgerView = client.get(&path).await?;
    if globals.json {
        return Ok(output::json(&entry)?);
    }
    Ok(output::line(text(&entry, Reader::of_stdout()))?)
}

fn text(entry: &LedgerView, reader: Reader) -> String {
    let moments = reader.moments();
    let duplicates = match entry.last_at {
        Some(last_at) => format!("{}, the last {}", entry.duplicates, moments.show(last_at)),
        None => "0".to_owned(),
    };
    let left = readable::duration(Duration::from_secs(entry.window_left_seconds));
    let lines = [
        ("event id", entry.event_id.clone()),
        ("scope", entry.scope.clone()),
        ("event", entry.id.to_string()),
        ("generation", entry.generation.to_string()),
        ("first", moments.show(entry.first_seen)),
        ("duplicates", duplicates),
        ("known for", format!("{left} more, until {}", entry.expires_at)),
        ("body", format!("sha256 {}", entry.body_sha256)),
    ];
    let lines = lines.map(|(name, value)| format!("{name:<12}{}", printable(&value)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use hapax_core::Timestamp;

    use super::*;
    use hapax_api::moment::Moments;

    #[test]
    fn an_entry_says_when_how_often_and_for_how_long() {
        let entry: LedgerView = serde_json::from_value(serde_json::json!({
            "source": "stripe", "scope": "stripe", "event_id": "evt_1", "id": "01940000-0000-7000-8000-000000000001",
            "generation": 0, "first_seen": "2026-01-01T00:00:00Z", "expires_at": "2026-01-31T00:00:00Z",
            "window_left_seconds": 2_591_996, "body_sha256": "ab", "duplicates": 2, "last_at": "2026-01-01T00:00:02Z",
        }))
        .unwrap();
        let moments = Moments::Relative(Timestamp::from_seconds(1_767_225_604));
        insta::assert_snapshot!(text(&entry, Reader::Person { width: Some(100), moments }), @r"
        event id    evt_1
        scope       stripe
        event       01940000-0000-7000-8000-000000000001
        generation  0
        first       4 s ago
        duplicates  2, the last 2 s ago
        known for   29 d more, until 2026-01-31T00:00:00.000000Z
        body        sha256 ab
        ");
    }
}
