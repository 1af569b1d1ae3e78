//! `hapax sources`: the sources and their URLs.

use hapax_verify::{IdClass, OnConflict};

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::readable;
use hapax_api::views::{SourceView, SourcesView};
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// List the sources of a running service with their webhook URLs and recent refusals.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax sources
  hapax sources --json | jq '.sources[].refusals'")]
pub struct Args {}

pub async fn run(_args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let view: SourcesView = client.get("sources").await?;
    if globals.json {
        return Ok(output::json(&view)?);
    }
    let reader = Reader::of_stdout();
    output::line(table(&view.sources, reader))?;
    for source in &view.sources {
        for refusal in &source.refusals {
            let at = reader.moments().show(refusal.at);
            output::note(format_args!(
                "{}: refused {at} with {} {}: {}",
                source.name, refusal.status, refusal.code, refusal.detail
            ));
        }
    }
    Ok(())
}

fn table(sources: &[SourceView], reader: Reader) -> String {
    let mut table = Table::new([
        "source",
        "provider",
        "deliver to",
        "secrets",
        "ledger",
        "payloads",
        "event id",
        "url",
    ]);
    for source in sources {
        let days = |seconds: u64| readable::duration(std::time::Duration::from_secs(seconds));
        let dash = || "-".to_owned();
        table.row([
            source.name.clone(),
            source.provider.clone().unwrap_or_else(dash),
            source.deliver_to.join(", "),
            source.secrets.to_string(),
            days(source.ledger_window_seconds),
            days(source.payload_retention_seconds),
            event_id(source),
            source
                .console_url
                .clone()
                .unwrap_or_else(|| format!("/in/{}", source.name)),
        ]);
    }
    table.render(reader)
}

/// Where the id is, and whether it identifies duplicates.
fn event_id(source: &SourceView) -> String {
    let rule = source.event_id_rule.as_deref().unwrap_or("-");
    if source.id_class.as_deref() == Some(IdClass::NotDeduplicated.as_str()) {
        return format!("{rule} (not deduplicated)");
    }
    if source.on_conflict.as_deref() == Some(OnConflict::Accept.as_str()) {
        return format!("{rule} (conflicts accepted)");
    }
    rule.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_api::moment::Moments;

    #[test]
    fn a_source_is_shown_with_the_url_for_its_sender() {
        let view: SourceView = serde_json::from_value(serde_json::json!({
            "name": "stripe", "provider": "stripe", "scope": "stripe", "deliver_to": ["billing", "ledger"], "secrets": 2,
            "ledger_window_seconds": 2_592_000, "payload_retention_seconds": 1_209_600, "dead_retention_seconds": 2_592_000,
            "event_id_rule": "body:/id", "console_url": "https://hooks.example.com/in/stripe",
        }))
        .unwrap();
        let reader = Reader::Person {
            width: Some(120),
            moments: Moments::Exact,
        };
        insta::assert_snapshot!(table(&[view], reader), @r"
        SOURCE  PROVIDER  DELIVER TO       SECRETS  LEDGER  PAYLOADS  EVENT ID  URL
        stripe  stripe    billing, ledger  2        30 d    14 d      body:/id  https://hooks.example.com/in/stripe
        ");
    }
}
