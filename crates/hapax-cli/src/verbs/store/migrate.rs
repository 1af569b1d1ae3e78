//! `hapax store migrate`: moves everything in a store to another one, resumable and verified.
//!
//! The target carries a mark, and is not served, until it has been compared with the source.

mod both_stores;
mod verify;

use std::sync::Arc;

use hapax_core::store::{
    Census, Error, ImportMark, MigrationCursor, Record, TimeRange, ValueSpace, ValueSwap,
};
use hapax_core::{Backend, Clock, SystemClock};
use serde_json::json;

use self::both_stores::{Begun, BothStores};
use self::verify::StoreComparison;
use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_config::StoreUrl;
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

/// Migrate everything in the store to another store.
///
/// The ledger, events, unfinished deliveries, outcomes and the audit trail are kept: an event that was accepted before
/// is still a duplicate, and unfinished deliveries continue in the new store. Stop the service first; the target must
/// be empty. An interrupted migration resumes when you run it again, and the target cannot be served until it is
/// complete. At the end both stores are read and compared; exits with 5 if they differ. Each store is read and written
/// with its own encryption keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax store migrate --to postgres://hapax@db.internal/hapax
  hapax store migrate --to redis-cluster://a.internal:6379,b.internal:6379
  hapax store migrate --from sqlite:old.db --to sqlite:new.db --json")]
pub struct Args {
    /// Store to migrate to
    // Hidden, because help would print a password.
    #[arg(long, value_name = "URL", env = "HAPAX_MIGRATE_TO", hide_env_values = true)]
    pub to: StoreUrl,

    /// Store to migrate from [default: `store.url` in the configuration]
    #[arg(long, value_name = "URL", env = "HAPAX_MIGRATE_FROM", hide_env_values = true)]
    pub from: Option<StoreUrl>,

    /// Encryption keys of the target store, such as env:NEW,env:OLD; `plain` for none [default: `store.encryption_keys`
    /// in the configuration]
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub to_keys: Option<Vec<String>>,

    /// Encryption keys of the source store, in the same format
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub from_keys: Option<Vec<String>>,

    /// Number of records to migrate at a time
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub page: u32,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let places = BothStores::open(&args, globals, &clock).await?;
    let outcome = copy(&places, args.page).await;
    places.close().await;
    report(&places, &outcome?, globals)
}

/// The result of a migration.
struct Copied {
    is_resumed: bool,
    census: Census,
    verdict: StoreComparison,
}

async fn copy(places: &BothStores, page: u32) -> Result<Copied, CliError> {
    let (source, target) = (places.source.backend(), places.target.backend());
    both_stores::refuse_while_served(&*source).await?;
    let mark = ImportMark {
        origin: source.origin().await?,
        census: source.census().await?,
        reached: MigrationCursor::START,
    };
    let begun = places.begin(&*target, &mark).await?;
    let (is_resumed, reached) = match begun {
        Begun::Anew => (false, MigrationCursor::START),
        Begun::Again(reached) => (true, reached),
    };
    move_over(&*source, &*target, reached, mark.census.records(), page).await?;
    let verdict = verify::compare(&*source, &*target, mark.census.records(), page).await?;
    if verdict.is_equal() {
        // These are few and small, and writing them again changes nothing, so they are not part of the pages. Alerts
        // are left out: one that still applies fires again within ten seconds of the first start.
        let sources = source.sources_with_values().await?.into_iter();
        for space in sources.map(ValueSpace::Source).chain([ValueSpace::SavedSearches]) {
            for value in source.values(&space).await? {
                target.swap_value(ValueSwap::put(space.clone(), value)).await?;
            }
        }
        for span in TimeRange::ALL {
            target.put_traffic(source.traffic(span).await?).await?;
        }
        target.finish_import().await?;
    }
    Ok(Copied {
        is_resumed,
        census: mark.census,
        verdict,
    })
}

/// Migrates page by page. Each page is durable in the target, with its cursor, before the next is read.
async fn move_over(
    source: &dyn Backend,
    target: &dyn Backend,
    mut reached: MigrationCursor,
    total: u64,
    page: u32,
) -> Result<(), CliError> {
    let progress = Progress::quiet_unless_terminal(total);
    progress.say("migrating");
    let mut moved = target.census().await?.records();
    progress.set(moved);
    loop {
        let found = source.export(&reached, page).await?;
        moved += found.records.len() as u64;
        let is_last = found.next.is_none();
        reached = found.next.unwrap_or(reached);
        take_in(target, found.records, &reached).await?;
        progress.set(moved);
        if is_last {
            return Ok(());
        }
    }
}

/// Writes a page. If the target rejects it, finds and names the record that cannot be stored there.
async fn take_in(
    target: &dyn Backend,
    records: Vec<Record>,
    reached: &MigrationCursor,
) -> Result<(), CliError> {
    let refused = match target.import(records.clone(), reached).await {
        Ok(()) => return Ok(()),
        Err(error @ Error::Rejected { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    for record in records {
        let name = record.name();
        if let Err(error) = target.import(vec![record], &MigrationCursor::START).await {
            let error = anyhow::Error::new(error).context(format!(
                "{name} cannot be stored in the target: wait until it has expired in the source, or migrate to another \
                 kind of store"
            ));
            return Err(error.into());
        }
    }
    Err(refused.into())
}

fn report(places: &BothStores, copied: &Copied, globals: &Globals) -> Result<(), CliError> {
    let (from, to) = (places.from.to_string(), places.to.to_string());
    if globals.json {
        let counts: serde_json::Map<String, serde_json::Value> = copied
            .census
            .counts()
            .into_iter()
            .map(|(name, count)| (name.replace(' ', "_"), count.into()))
            .collect();
        output::json(&json!({
            "from": from,
            "to": to,
            "resumed": copied.is_resumed,
            "verified": copied.verdict.is_equal(),
            "counts": counts,
            "sha256": copied.verdict.source_hash,
            "differences": copied.verdict.differences,
        }))?;
    } else {
        for (name, count) in copied.census.counts() {
            output::line(format_args!("{count:>12} {name}"))?;
        }
    }
    if !copied.verdict.is_equal() {
        return Err(differs(&copied.verdict, globals));
    }
    if !globals.json {
        output::line(format_args!("{:>12} {}", "sha256", copied.verdict.source_hash))?;
        output::note(format_args!(
            "{from} and {to} have the same content. For hapax.toml:"
        ));
        output::line(format_args!("\n[store]\nurl = \"{to}\""))?;
        say_what_is_hidden(&places.to);
    }
    Ok(())
}

fn differs(verdict: &StoreComparison, globals: &Globals) -> CliError {
    if globals.json {
        return CliError::silent(Exit::ProblemFound);
    }
    for difference in &verdict.differences {
        output::warning(difference);
    }
    CliError::problem_found(
        "the target differs from the source, which was changed during the migration or does not read the same twice; \
         the target cannot be served; stop everything that uses the source, empty the target, and migrate again",
    )
}

/// A URL is shown without the parts that may be secret.
fn say_what_is_hidden(to: &StoreUrl) {
    match to {
        StoreUrl::Sqlite(_) => {}
        StoreUrl::Postgres(_) | StoreUrl::Redis(_) => output::note(
            "with the user, password and options that you gave to --to, which are not shown here; or set HAPAX_STORE__URL",
        ),
    }
}
