//! Does a store stay fast as it grows? It is filled to each power of ten in turn, and everything that could depend on
//! its size is measured there: new events, duplicates of old events, deliveries, purging, pages, disk and memory.

mod fill;
mod space;
mod stage;

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use comfy_table::{CellAlignment, Table, presets};
use hapax_core::{Clock, SystemClock};
use serde::Serialize;

use crate::child::Server;
use crate::machine::Machine;
use crate::preload::ENTRIES_MAX;
use crate::service::{Settings, Site, new_secret, quoted};
use crate::workspace::{Afterwards, Workspace};
use hapax_config::StoreUrl;
use hapax_server::OpenStore;
use hapax_terminal::output;

use super::dashboard::{self, SOURCES};
use super::database::Database;
use super::plan::{Plan, StoreKind};
use super::site::{self, DELIVERED, STORED};

use fill::Filler;
use stage::{Growing, Stage};

pub use space::{Shortage, shortage};

/// The smallest size.
pub const EVENTS_MIN: u64 = 10_000;
/// The largest size: beyond ten million events, further ones are ledger entries without payloads.
pub const EVENTS_MAX: u64 = ENTRIES_MAX;
/// The size of the published run.
pub const EVENTS: u64 = 10_000_000;
/// The size with `--quick`.
pub const EVENTS_QUICK: u64 = 100_000;

/// The files of an SQLite store.
const FILE_SUFFIXES: [&str; 4] = ["", "-wal", "-shm", ".lock"];

#[derive(Debug, Serialize)]
pub struct Results {
    machine: Machine,
    stages: Vec<Stage>,
    /// What the figures leave out.
    notes: Vec<String>,
    /// Unexpected results.
    problems: Vec<String>,
}

/// Fills a store up to this many events, and measures at each size on the way.
pub async fn run(plan: &Plan, events: u64) -> anyhow::Result<Results> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let database = Database::find(plan).await?;
    let own = format!("sqlite:{}", workspace.path().join("hapax.db").display());
    let store_url = plan.store.clone().unwrap_or(own);
    let url: StoreUrl = store_url.parse()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let sink = Server::start("sink").await?;
    let secret = new_secret();
    let site = create_site(workspace.path(), store_url, &sink, &secret)?;
    let store = OpenStore::open(&url, None, &clock).await?;
    let empty_bytes = store.backend().counts().await?.store_bytes;
    let filler = Filler::begin(&*store.backend()).await?;
    store.close().await;
    let mut growing = Growing {
        plan,
        database: &database,
        folder: workspace.path(),
        url: &url,
        clock,
        site: &site,
        sink: &sink,
        secret: &secret,
        empty_bytes,
        filler,
        problems: Vec::new(),
    };
    let mut stages = Vec::new();
    for entries in sizes(events) {
        let stage = growing.stage(entries).await;
        stages.push(stage.with_context(|| format!("the measurement at {entries} events failed"))?);
    }
    Ok(Results {
        machine,
        stages,
        notes: database.note().into_iter().collect(),
        problems: growing.problems,
    })
}

/// Removes everything that a run has written to the plan's store, which had nothing in it before. A store of its own is
/// removed with its folder.
pub async fn clean(plan: &Plan) -> anyhow::Result<()> {
    match (plan.kind(), &plan.store) {
        (_, None) => Ok(()),
        (StoreKind::Sqlite, Some(url)) => match url.parse()? {
            StoreUrl::Sqlite(path) => remove_files(&path),
            StoreUrl::Postgres(_) | StoreUrl::Redis(_) => Ok(()),
        },
        (StoreKind::Postgres | StoreKind::Redis, Some(_)) => site::empty(plan).await,
    }
}

fn remove_files(path: &Path) -> anyhow::Result<()> {
    for suffix in FILE_SUFFIXES {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{} cannot be removed", file.display()));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Every power of ten from the smallest size, and the last size.
fn sizes(events: u64) -> Vec<u64> {
    let powers = std::iter::successors(Some(EVENTS_MIN), |size| size.checked_mul(10));
    let mut sizes: Vec<u64> = powers.take_while(|size| *size < events).collect();
    sizes.push(events);
    sizes
}

/// The sources of the stored events, one that the load client sends to, and one that delivers to the sink.
fn create_site(folder: &Path, store_url: String, sink: &Server, secret: &str) -> anyhow::Result<Site> {
    let mut sources: Vec<(&'static str, Vec<&'static str>)> =
        SOURCES.iter().map(|source| (*source, vec![])).collect();
    sources.push((STORED, vec![]));
    sources.push((DELIVERED, vec!["sink"]));
    let url = quoted(&format!("http://{}/", sink.address()));
    let settings = Settings {
        store_url,
        encryption_key: None,
        sources,
        secret: secret.to_owned(),
        destinations: format!(
            "{}\n[destinations.sink]\nkind = \"http\"\nurl = {url}\n",
            dashboard::destinations()
        ),
    };
    Site::create(folder, &settings)
}

/// Prints a column for each size.
pub fn print(results: &Results) -> io::Result<()> {
    let machine = &results.machine;
    output::line(format_args!(
        "{} cores, {} with {:.0} flushes a second; CPU µs: processor time per event of the service; database µs: of all \
         processes of the database servers\n",
        machine.cores,
        machine.file_system.as_deref().unwrap_or("unknown"),
        machine.flushes_per_second,
    ))?;
    output::line(table(&results.stages))?;
    for stage in &results.stages {
        output::line(format_args!(
            "slowest page with {} events: {}",
            stage.entries, stage.slowest_page.path
        ))?;
    }
    for note in &results.notes {
        output::note(note);
    }
    for problem in &results.problems {
        output::warning(problem);
    }
    Ok(())
}

/// A line of the table: its name, its value at a size, and the decimals to print.
type Line = (&'static str, fn(&Stage) -> Option<f64>, usize);

const LINES: [Line; 15] = [
    ("new events a second", |stage| Some(stage.new.per_second), 0),
    ("new events, CPU µs", |stage| stage.new.processor_us.service, 1),
    (
        "new events, database µs",
        |stage| stage.new.processor_us.database,
        1,
    ),
    (
        "duplicates of cold ids a second",
        |stage| Some(stage.cold_duplicates.per_second),
        0,
    ),
    (
        "duplicates of cold ids, CPU µs",
        |stage| stage.cold_duplicates.processor_us.service,
        1,
    ),
    (
        "duplicates of cold ids, database µs",
        |stage| stage.cold_duplicates.processor_us.database,
        1,
    ),
    (
        "accepted to delivered a second",
        |stage| Some(stage.delivered.per_second),
        0,
    ),
    (
        "accepted to delivered, CPU µs",
        |stage| stage.delivered.processor_us.service,
        1,
    ),
    (
        "accepted to delivered, database µs",
        |stage| stage.delivered.processor_us.database,
        1,
    ),
    ("purged a second", |stage| Some(stage.purged.per_second), 0),
    ("purged, CPU µs", |stage| stage.purged.processor_us.service, 1),
    (
        "purged, database µs",
        |stage| stage.purged.processor_us.database,
        1,
    ),
    (
        "slowest dashboard page, ms",
        |stage| Some(stage.slowest_page.ms),
        1,
    ),
    ("bytes per event", |stage| Some(stage.bytes_per_event), 0),
    (
        "anonymous memory, highest, MiB",
        |stage| stage.anonymous_peak_kib.map(|kib| kib as f64 / 1024.0),
        1,
    ),
];

fn table(stages: &[Stage]) -> Table {
    let mut table = Table::new();
    // Markdown, so that the output can be pasted into a page.
    table.load_style(presets::ASCII_MARKDOWN);
    let mut header = vec!["events".to_owned()];
    header.extend(stages.iter().map(|stage| stage.entries.to_string()));
    header.push("last : first".to_owned());
    table.set_header(header);
    for (name, of, decimals) in LINES {
        let values: Vec<Option<f64>> = stages.iter().map(of).collect();
        // A file has no server whose time could be shown.
        if values.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![name.to_owned()];
        row.extend(values.iter().map(|value| shown(*value, decimals)));
        row.push(shown(ratio(&values), 2));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The last value divided by the first: 1 if the size makes no difference.
fn ratio(values: &[Option<f64>]) -> Option<f64> {
    let (first, last) = ((*values.first()?)?, (*values.last()?)?);
    (first > 0.0).then(|| last / first)
}

fn shown(value: Option<f64>, decimals: usize) -> String {
    value
        .map(|value| format!("{value:.decimals$}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::stage::SlowestPage;
    use super::*;
    use crate::bench::meter::{ProcessorUs, Rate};

    #[test]
    fn every_power_of_ten_is_measured_and_the_last_size() {
        assert_eq!(sizes(10_000), [10_000]);
        assert_eq!(sizes(25_000), [10_000, 25_000]);
        assert_eq!(sizes(EVENTS), [10_000, 100_000, 1_000_000, 10_000_000]);
        assert_eq!(sizes(EVENTS_MAX).len(), 5);
    }

    fn stage(entries: u64, per_second: f64) -> Stage {
        let rate = Rate {
            per_second,
            processor_us: ProcessorUs {
                service: Some(40.0),
                database: None,
            },
        };
        Stage {
            entries,
            events: entries,
            new: rate,
            cold_duplicates: rate,
            delivered: rate,
            purged: rate,
            bytes_per_event: 2_400.0,
            anonymous_peak_kib: None,
            resident_peak_kib: None,
            slowest_page: SlowestPage {
                path: "/".to_owned(),
                ms: 12.5,
            },
            pages: Vec::new(),
        }
    }

    #[test]
    fn a_size_has_a_column_and_the_last_is_compared_with_the_first() {
        let text = table(&[stage(10_000, 30_000.0), stage(100_000, 27_000.0)]).to_string();
        let line = |name: &str| {
            let line = text.lines().find(|line| line.contains(name)).unwrap();
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            cells[1..5].join(" ")
        };
        assert_eq!(line("events  "), "events 10000 100000 last : first");
        assert_eq!(
            line("new events a second"),
            "new events a second 30000 27000 0.90"
        );
        assert_eq!(line("slowest"), "slowest dashboard page, ms 12.5 12.5 1.00");
        assert!(!text.contains("database") && !text.contains("memory"), "{text}");
    }

    #[tokio::test]
    async fn a_named_file_is_removed_with_what_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big.db");
        for suffix in FILE_SUFFIXES {
            std::fs::write(format!("{}{suffix}", path.display()), "").unwrap();
        }
        std::fs::write(folder.path().join("other"), "").unwrap();
        let plan = Plan {
            store: Some(format!("sqlite:{}", path.display())),
            ..Plan::quick(folder.path().to_owned())
        };
        clean(&plan).await.unwrap();
        clean(&plan).await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
