//! `hapax replay`: deliver events again.

mod bulk;
mod named;

use clap::ValueEnum;
use hapax_core::EventId;
use hapax_core::store::ReplayMode;

use super::filter::EventFilter;
use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;

/// The filter flags, one of which is required if no id is given.
const FILTERS: [&str; 8] = [
    "query",
    "saved_search",
    "source",
    "status",
    "event_type",
    "event_id",
    "since",
    "until",
];

/// Deliver events again.
///
/// Select events by id or with filters. A replay keeps the idempotency key, so a handler can recognise an event it has
/// already processed; only `--mode force` uses a new key. Events with unfinished deliveries are skipped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax replay 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10
  hapax replay --status dead --source stripe --since 2d --dry-run
  hapax replay --query 'to:billing error:timeout' --to billing --yes
  hapax replay --source stripe --since 7d --to ledger --mode all --why 'ledger was added'")]
pub struct Args {
    /// Hapax ids of the events
    #[arg(value_name = "ID", required_unless_present_any = FILTERS, conflicts_with_all = FILTERS)]
    pub ids: Vec<EventId>,

    #[command(flatten)]
    pub filter: EventFilter,

    /// Deliver only to this destination, even if it was added after the events
    #[arg(long, value_name = "DESTINATION")]
    pub to: Option<String>,

    /// Which deliveries to replay
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    pub mode: Mode,

    /// Show what would be replayed, without replaying it
    #[arg(long)]
    pub dry_run: bool,

    /// Events per second, for a replay with filters
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rate: u32,

    /// Skip the confirmation of a replay with filters
    #[arg(short, long)]
    pub yes: bool,

    /// Reason; stored in the audit trail
    #[arg(long, alias = "reason", value_name = "TEXT", default_value = "")]
    pub why: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Dead deliveries
    #[default]
    Failed,
    /// Every finished delivery, with the same idempotency key
    All,
    /// Every delivery, with a new idempotency key, so that it takes effect again
    Force,
    /// Deliveries that are held because their body arrived before under another id; this releases them
    Held,
}

impl From<Mode> for ReplayMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Failed => Self::Failed,
            Mode::All => Self::All,
            Mode::Force => Self::Force,
            Mode::Held => Self::Held,
        }
    }
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    if args.ids.is_empty() {
        bulk::run(&client, &args, globals).await
    } else {
        named::run(&client, &args, globals).await
    }
}
