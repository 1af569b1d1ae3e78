//! `hapax bench`: the published benchmark, measured against its ceiling.

use std::path::PathBuf;
use std::time::Duration;

use hapax_core::Secret;
use hapax_store_postgres::Connector;

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_config::StoreUrl;
use hapax_load::redis::Redis;
use hapax_load::{bench, interrupt, preload, workspace};
use hapax_terminal::output;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Deleting millions of keys takes a while.
const CLEAN_LIMIT: Duration = Duration::from_secs(300);

/// Benchmark this machine against the ceiling of a handler that stores nothing.
///
/// Runs a bare HTTP handler and the service in turns, with the same client, a 1 KiB body, random ids and a real
/// signature. Prints new events, duplicates and deliveries per second, latencies and memory, each as a number and as a
/// ratio to the ceiling, and beside every rate the processor time per event of the service and of the database. The
/// client runs in its own process, and the store is on a disk.
///
/// The full run takes about seventeen minutes and temporarily up to 30 GB of disk; `--quick` takes about two minutes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax bench --quick
  hapax bench --quick --dashboard
  hapax bench --quick --telemetry
  hapax bench --quick --hostile
  hapax bench --quick --encryption
  hapax bench --growth --events 1000000
  hapax bench --retention --seconds 120
  hapax bench --dir /var/tmp --json > bench.json
  hapax bench --store postgres://localhost/bench --quick
  hapax bench --store redis://localhost/0?prefix=bench --quick")]
#[expect(clippy::struct_excessive_bools, reason = "each is a command-line flag")]
pub struct Args {
    /// Store to measure. It must be new: a file that does not exist, a database without Hapax tables, or a Redis
    /// without keys under its prefix [default: a new SQLite file for each round]
    #[arg(long, value_name = "URL")]
    pub store: Option<StoreUrl>,

    /// Duration of each measurement, in seconds [default: 8, with --quick 2, with --retention 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=bench::SECONDS_MAX))]
    pub seconds: Option<u64>,

    /// Number of times to repeat each measurement; medians are printed [default: 5, with --quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: Option<u32>,

    /// Run a shorter benchmark without a large ledger, for a first impression
    #[arg(long)]
    pub quick: bool,

    /// Measure the dashboard instead: page times and the cost of a live tail with this many stored events
    #[arg(long, value_name = "EVENTS", num_args = 0..=1, default_missing_value = "1000000",
          value_parser = clap::value_parser!(u64).range(1_000..=bench::dashboard::EVENTS_MAX))]
    pub dashboard: Option<u64>,

    /// Measure telemetry instead: accepts without it, and with a trace receiver that never answers and an alert that
    /// cannot be delivered. Exits with 5 if accepts keep less than 0.97 of their rate
    #[arg(long, conflicts_with = "dashboard")]
    pub telemetry: bool,

    /// Measure encryption instead: new events with and without keys. Exits with 5 if they keep less than 0.9 of their
    /// rate
    #[arg(long, conflicts_with_all = ["dashboard", "telemetry", "retention"])]
    pub encryption: bool,

    /// Measure retention instead: accepts without purging, and with windows of a few seconds, so that events expire as
    /// fast as they arrive. Exits with 5 if purging does not keep pace
    #[arg(long, conflicts_with_all = ["dashboard", "telemetry"])]
    pub retention: bool,

    /// Measure an attack instead: a correctly signed source at half of its peak rate, alone and during an attack by 500
    /// hostile connections from 127.0.0.2. Exits with 5 if the source keeps less than 0.9 of its rate or receives a 503
    #[arg(long, conflicts_with_all = ["dashboard", "telemetry", "retention"])]
    pub hostile: bool,

    /// Measure growth instead: a store is filled to --events, and at each power of ten from 10,000 on it measures new
    /// events, duplicates of old events, deliveries, purging, the slowest dashboard page, bytes per event and memory.
    /// It refuses to start without enough free disk space, and removes everything it has written
    #[arg(long, conflicts_with_all = ["dashboard", "telemetry", "retention", "encryption", "hostile"])]
    pub growth: bool,

    /// Events to fill the store with for --growth; beyond 10 million, ledger entries without payloads [default:
    /// 10000000, with --quick 100000]
    #[arg(long, value_name = "N", requires = "growth",
          value_parser = clap::value_parser!(u64).range(bench::growth::EVENTS_MIN..=bench::growth::EVENTS_MAX))]
    pub events: Option<u64>,

    /// Entries in the large ledger that is compared with an empty one; 0 skips it [default: 5000000, with --quick 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=preload::ENTRIES_MAX))]
    pub preload: Option<u64>,

    /// Queued deliveries in the long backlog that is compared with a short one; 0 skips it [default: 1000000, with
    /// --quick 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=preload::ENTRIES_MAX))]
    pub backlog: Option<u64>,

    /// Folder for the store; it must be on a disk [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    refuse_used(args.store.as_ref()).await?;
    let (dashboard, telemetry, retention) = (args.dashboard, args.telemetry, args.retention);
    let (hostile, encryption) = (args.hostile, args.encryption);
    let growth = growth_events(&args);
    let plan = plan(args)?;
    if let Some(events) = growth {
        return measure_growth(&plan, events, globals).await;
    }
    if encryption {
        return measure_encryption(&plan, globals).await;
    }
    if retention {
        return measure_retention(&plan, globals).await;
    }
    if hostile {
        return measure_hostile(&plan, globals).await;
    }
    if telemetry {
        return measure_telemetry(&plan, globals).await;
    }
    if let Some(events) = dashboard {
        return measure_dashboard(&plan, events, globals).await;
    }
    let results = interrupt::guard(bench::run(plan)).await?;
    if globals.json {
        output::json(&results)?;
    } else {
        bench::print(&results)?;
    }
    Ok(())
}

async fn measure_dashboard(plan: &bench::Plan, events: u64, globals: &Globals) -> Result<(), CliError> {
    let results = interrupt::guard(bench::dashboard::run(plan, events)).await?;
    if globals.json {
        output::json(&results)?;
    } else {
        bench::dashboard::print(&results)?;
    }
    Ok(())
}

async fn measure_telemetry(plan: &bench::Plan, globals: &Globals) -> Result<(), CliError> {
    let results = interrupt::guard(bench::telemetry::run(plan)).await?;
    if globals.json {
        output::json(&results)?;
    } else {
        bench::telemetry::print(&results)?;
    }
    met(results.is_reached())
}

async fn measure_hostile(plan: &bench::Plan, globals: &Globals) -> Result<(), CliError> {
    let results = interrupt::guard(bench::hostile::run(plan)).await?;
    if globals.json {
        output::json(&results)?;
    } else {
        bench::hostile::print(&results)?;
    }
    met(results.is_reached())
}

async fn measure_encryption(plan: &bench::Plan, globals: &Globals) -> Result<(), CliError> {
    let results = interrupt::guard(bench::encryption::run(plan)).await?;
    if globals.json {
        output::json(&results)?;
    } else {
        bench::encryption::print(&results)?;
    }
    met(results.is_reached())
}

/// The number of events to grow to, if growth is measured.
fn growth_events(args: &Args) -> Option<u64> {
    let default = if args.quick {
        bench::growth::EVENTS_QUICK
    } else {
        bench::growth::EVENTS
    };
    args.growth.then(|| args.events.unwrap_or(default))
}

async fn measure_growth(plan: &bench::Plan, events: u64, globals: &Globals) -> Result<(), CliError> {
    if let Some(shortage) = bench::growth::shortage(plan, events).await? {
        return Err(CliError::usage(shortage.to_string()));
    }
    let results = interrupt::guard(bench::growth::run(plan, events)).await;
    // After an interruption, too: millions of events must not stay in somebody's database.
    let cleaned = tokio::time::timeout(CLEAN_LIMIT, bench::growth::clean(plan)).await;
    if !matches!(cleaned, Ok(Ok(()))) {
        output::warning("the events of the benchmark could not be removed from the store");
    }
    let results = results?;
    if globals.json {
        output::json(&results)?;
    } else {
        bench::growth::print(&results)?;
    }
    Ok(())
}

/// The exit code of a measurement with a target.
fn met(is_reached: bool) -> Result<(), CliError> {
    is_reached
        .then_some(())
        .ok_or_else(|| CliError::silent(Exit::ProblemFound))
}

async fn measure_retention(plan: &bench::Plan, globals: &Globals) -> Result<(), CliError> {
    let results = interrupt::guard(bench::retention::run(plan)).await?;
    if globals.json {
        output::json(&results)?;
    } else {
        bench::retention::print(&results)?;
    }
    match results.standing() {
        bench::retention::Standing::Kept => Ok(()),
        bench::retention::Standing::Behind => Err(CliError::silent(Exit::ProblemFound)),
    }
}

fn plan(args: Args) -> Result<bench::Plan, CliError> {
    let folder = args.dir.unwrap_or_else(workspace::disk_folder);
    if workspace::is_in_memory(&folder) {
        return Err(CliError::usage(format!(
            "{} is in memory, where a flush costs nothing and results are meaningless; choose a folder on a disk with \
             --dir",
            folder.display()
        )));
    }
    let defaults = if args.quick {
        bench::Plan::quick(folder)
    } else {
        bench::Plan::full(folder)
    };
    let store = args.store.as_ref().map(StoreUrl::absolute).transpose()?;
    // A store that is used as it is cannot be both empty and large.
    let preload = if store.is_some() {
        0
    } else {
        args.preload.unwrap_or(defaults.preload)
    };
    Ok(bench::Plan {
        rounds: args.rounds.map_or(defaults.rounds, |rounds| rounds as usize),
        seconds: args.seconds.unwrap_or(if args.retention {
            bench::retention::SECONDS
        } else {
            defaults.seconds
        }),
        preload,
        backlog: args.backlog.unwrap_or(defaults.backlog),
        store,
        ..defaults
    })
}

/// Whether a database has a store or an inbox, even an empty one: each round drops and recreates both.
async fn has_tables(url: &Secret) -> anyhow::Result<bool> {
    let connector = Connector::new(url, CONNECT_TIMEOUT, CONNECT_TIMEOUT)
        .map_err(|why| anyhow::anyhow!("the store's URL cannot be used: {why}"))?;
    let client = connector.connect().await?.client;
    let there = "SELECT to_regnamespace('hapax') IS NOT NULL OR to_regclass('hapax_inbox') IS NOT NULL";
    Ok(client.query_one(there, &[]).await?.try_get(0)?)
}

/// The benchmark leaves a million events behind, so it refuses a store that is in use.
async fn refuse_used(store: Option<&StoreUrl>) -> Result<(), CliError> {
    let used = match store {
        None => false,
        Some(StoreUrl::Sqlite(path)) => path.exists(),
        Some(StoreUrl::Postgres(url)) => has_tables(url).await?,
        Some(StoreUrl::Redis(url)) => Redis::connect(url).await?.is_used().await?,
    };
    match store {
        Some(store) if used => Err(CliError::usage(format!(
            "{store} is in use; the benchmark fills its store with events, so use an empty one"
        ))),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> Args {
        Args {
            store: None,
            seconds: None,
            rounds: None,
            quick: true,
            dashboard: None,
            telemetry: false,
            encryption: false,
            retention: false,
            hostile: false,
            growth: false,
            events: None,
            preload: None,
            backlog: None,
            dir: None,
        }
    }

    #[test]
    fn flags_win_over_the_quick_defaults() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let dir = Some(folder.path().to_owned());
        let plan = plan(Args {
            seconds: Some(7),
            rounds: Some(9),
            preload: Some(10),
            dir,
            ..args()
        })
        .unwrap();
        assert_eq!((plan.seconds, plan.rounds, plan.preload), (7, 9, 10));
    }

    #[test]
    fn growth_ends_where_it_is_told_to() {
        let events = |growth, quick, events| {
            growth_events(&Args {
                quick,
                growth,
                events,
                ..args()
            })
        };
        assert_eq!(events(true, false, None), Some(10_000_000));
        assert_eq!(events(true, true, None), Some(100_000));
        assert_eq!(events(true, true, Some(20_000)), Some(20_000));
        assert_eq!(events(false, true, None), None);
    }

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_number_of_events_belongs_to_growth_and_has_bounds() {
        use clap::Parser as _;
        let parse = |words: &[&str]| Command::try_parse_from([&["bench"][..], words].concat());
        assert_eq!(
            parse(&["--growth", "--events", "10000"]).unwrap().args.events,
            Some(10_000)
        );
        for wrong in [
            &["--events", "10000"][..],
            &["--growth", "--events", "9999"],
            &["--growth", "--events", "100000001"],
            &["--growth", "--retention"],
            &["--growth", "--hostile"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[tokio::test]
    async fn a_store_in_use_is_refused() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("hapax.db");
        let store = StoreUrl::Sqlite(path.clone());
        assert!(refuse_used(Some(&store)).await.is_ok());
        std::fs::write(&path, "").unwrap();
        assert!(refuse_used(Some(&store)).await.is_err());
    }

    #[tokio::test]
    async fn a_prefix_in_use_is_refused() {
        let (server, prefix) = (
            hapax_test_redis::Server::shared().unwrap(),
            hapax_test_redis::fresh_prefix(),
        );
        let store: StoreUrl = server.url_with_prefix(&prefix).parse().unwrap();
        assert!(refuse_used(Some(&store)).await.is_ok());
        server
            .call(&["SET", &format!("{{{prefix}}}shards"), "1"])
            .unwrap();
        assert!(refuse_used(Some(&store)).await.is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_in_memory_is_refused() {
        let dir = PathBuf::from("/dev/shm");
        if workspace::is_in_memory(&dir) {
            assert!(
                plan(Args {
                    dir: Some(dir),
                    ..args()
                })
                .is_err()
            );
        }
    }
}
