//! `hapax audit`: operator actions, and a check that the audit trail has not been changed.

use hapax_core::store::AuditHead;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::Parameters;
use hapax_api::views::{AuditPageView, AuditVerifiedView};
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// List operator actions, newest first.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  hapax audit
  hapax audit --limit 500 --json
  hapax audit verify"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Maximum number of entries to list
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Continue from the cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Check that no one has changed the audit trail
    ///
    /// Each entry carries the hash of the previous one. Keep the printed head elsewhere: with `--head`, this also
    /// detects a trail that was truncated or rewritten. Exits with 5 if the trail is broken.
    #[command(after_help = "\
Examples:
  hapax audit verify
  hapax audit verify --head 340:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    Verify(VerifyArgs),
}

#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Head that an earlier run printed, or that is in the log
    #[arg(long, value_name = "SEQ:HASH")]
    pub head: Option<AuditHead>,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    if let Some(Command::Verify(args)) = args.command {
        return verify(&client, &args, globals).await;
    }
    let page: AuditPageView = client
        .pages("audit", &Parameters::default(), args.cursor, args.limit)
        .await?;
    if globals.json {
        return Ok(output::json(&page)?);
    }
    if page.audit.is_empty() {
        output::note("no changes were made yet");
        return Ok(());
    }
    let reader = Reader::of_stdout();
    let mut table = Table::new(["when", "who", "what", "target", "details"]);
    for entry in &page.audit {
        table.row([
            reader.moments().show(entry.at),
            entry.who.clone(),
            entry.action.clone(),
            entry.subject.clone(),
            entry.detail.clone(),
        ]);
    }
    output::line(table.render(reader))?;
    service::note_more(&page);
    Ok(())
}

async fn verify(client: &Client, args: &VerifyArgs, globals: &Globals) -> Result<(), CliError> {
    let path = match &args.head {
        Some(head) => format!("audit/verify?head={head}"),
        None => "audit/verify".to_owned(),
    };
    let found: AuditVerifiedView = client.get(&path).await?;
    if globals.json {
        output::json(&found)?;
    } else {
        output::line(text(&found))?;
    }
    match found.broken {
        None => Ok(()),
        Some(broken) => Err(CliError::problem_found(format!(
            "the audit trail is broken at entry {}: {}. Entries before it are intact. Compare the trail with a backup \
             of the store and with the log, and find out who can write to the store",
            broken.seq, broken.why
        ))),
    }
}

fn text(found: &AuditVerifiedView) -> String {
    let entries = |count| output::counted(count, "entry", "entries");
    let mut lines = vec![match &found.broken {
        None => format!("intact: {} checked", entries(found.entries)),
        Some(broken) => format!("broken at entry {}: {}", broken.seq, broken.why),
    }];
    if found.deleted > 0 {
        lines.push(format!(
            "retention has deleted all entries up to {}",
            found.deleted
        ));
    }
    if found.before > 0 {
        lines.push(format!(
            "not proven: {} from before the chain began",
            entries(found.before)
        ));
    }
    if found.unchained > 0 {
        lines.push(format!(
            "not proven: {} outside the chain, written by an earlier version during an upgrade or by an intruder",
            entries(found.unchained)
        ));
    }
    if let Some(head) = &found.head {
        lines.push(format!("head {head}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_api::views::AuditBreakView;

    #[test]
    fn a_broken_trail_says_where_and_what_it_does_not_prove() {
        let found = AuditVerifiedView {
            intact: false,
            head: Some("7:00ff".to_owned()),
            entries: 4,
            deleted: 2,
            unchained: 1,
            before: 0,
            broken: Some(AuditBreakView {
                seq: 5,
                why: "it is missing".to_owned(),
            }),
        };
        insta::assert_snapshot!(text(&found), @r"
        broken at entry 5: it is missing
        retention has deleted all entries up to 2
        not proven: 1 entry outside the chain, written by an earlier version during an upgrade or by an intruder
        head 7:00ff
        ");
    }
}
