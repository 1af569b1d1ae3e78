//! One size of the store: it is filled up to it, and then everything that could depend on its size is measured.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use hapax_core::Clock;
use serde::Serialize;

use crate::bench::dashboard::{self, Landmarks, Page};
use crate::bench::database::Database;
use crate::bench::meter::{Meter, Rate, Spent};
use crate::bench::plan::Plan;
use crate::bench::purge;
use crate::bench::round::{self, unexpected};
use crate::bench::site::{self, Loads};
use crate::child::Server;
use crate::memory::{Memory, Watch};
use crate::report::Report;
use crate::service::{Service, Site};
use hapax_config::StoreUrl;
use hapax_server::OpenStore;
use hapax_terminal::output;

use super::fill::{EXPIRING, EXPIRING_FOR, Filler};

const CONNECTIONS: usize = 256;
/// Bounds of the events that a measurement sends: enough to measure, and few beside those that are stored.
const MEASURED_MIN: u64 = 10_000;
const MEASURED_MAX: u64 = 200_000;
/// Duplicates to send in total, in several passes where few events are stored.
const COLD_MIN: usize = 50_000;
const PASSES_MAX: usize = 10;

/// The results at one size.
#[derive(Debug, Serialize)]
pub(super) struct Stage {
    /// Ledger entries when the measurements began.
    pub(super) entries: u64,
    /// Events with a payload at that time.
    pub(super) events: u64,
    pub(super) new: Rate,
    /// Duplicates of stored events that the service has not seen since its start.
    pub(super) cold_duplicates: Rate,
    /// From the first accept to the last effect.
    pub(super) delivered: Rate,
    /// Events with their ledger entries, through the store alone.
    pub(super) purged: Rate,
    /// The size of the store, divided by its ledger entries.
    pub(super) bytes_per_event: f64,
    /// Peak anonymous memory of the service.
    pub(super) anonymous_peak_kib: Option<u64>,
    /// Peak resident memory of the service.
    pub(super) resident_peak_kib: Option<u64>,
    pub(super) slowest_page: SlowestPage,
    pub(super) pages: Vec<Page>,
}

/// The page with the slowest request of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct SlowestPage {
    pub(super) path: String,
    pub(super) ms: f64,
}

/// A store on its way from one size to the next.
pub(super) struct Growing<'a> {
    pub(super) plan: &'a Plan,
    pub(super) database: &'a Database,
    pub(super) folder: &'a Path,
    pub(super) url: &'a StoreUrl,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) site: &'a Site,
    pub(super) sink: &'a Server,
    pub(super) secret: &'a str,
    /// The size of the store before its first event.
    pub(super) empty_bytes: u64,
    pub(super) filler: Filler,
    pub(super) problems: Vec<String>,
}

/// What was measured while one service ran.
struct Served {
    new: Rate,
    delivered: Rate,
    bytes: u64,
    peak: Option<Memory>,
    pages: Vec<Page>,
}

impl<'a> Growing<'a> {
    /// Grows to so many ledger entries, and measures.
    pub(super) async fn stage(&mut self, entries: u64) -> anyhow::Result<Stage> {
        let landmarks = self.fill(entries).await?;
        let size = self.filler.size;
        output::note(format_args!("measuring with {} events", size.entries));
        let cold_duplicates = self.send_cold().await?;
        let served = self.serve(&landmarks, measured(entries)).await?;
        let purged = self.purge().await?;
        Ok(Stage {
            entries: size.entries,
            events: size.events,
            new: served.new,
            cold_duplicates,
            delivered: served.delivered,
            purged,
            bytes_per_event: bytes_each(served.bytes, self.empty_bytes, size.entries),
            anonymous_peak_kib: served.peak.map(|peak| peak.anonymous_kib),
            resident_peak_kib: served.peak.map(|peak| peak.resident_kib),
            slowest_page: slowest(&served.pages),
            pages: served.pages,
        })
    }

    async fn fill(&mut self, entries: u64) -> anyhow::Result<Landmarks> {
        let store = OpenStore::open(self.url, None, &self.clock).await?;
        let landmarks = self
            .filler
            .grow(&*store.backend(), entries, purged(entries))
            .await?;
        store.close().await;
        site::settle(self.plan).await?;
        Ok(landmarks)
    }

    /// Sends stored events again, in random order and each once per service: none is in its seen-cache.
    async fn send_cold(&mut self) -> anyhow::Result<Rate> {
        let file = self.folder.join("cold-ids");
        let (ids, count) = self.filler.cold_ids();
        std::fs::write(&file, ids)?;
        let (mut events, mut seconds, mut spent) = (0, 0.0, Spent::NOTHING);
        for _ in 0..passes(count) {
            let service = self.site.start().await?;
            let running = self.meter(&service)?.start();
            let report = self.loads().known(self.site.ingest(), CONNECTIONS, &file).await?;
            spent = spent.and(running.end());
            service.end().await?;
            self.note("duplicates of cold ids", &report, report.counts.duplicate);
            events += report.counts.duplicate;
            seconds += report.seconds;
        }
        Ok(Rate {
            per_second: per_second(events, seconds),
            processor_us: spent.per_event(events),
        })
    }

    /// Pages, new events and deliveries of one service.
    async fn serve(&mut self, landmarks: &Landmarks, count: u64) -> anyhow::Result<Served> {
        let service = self.site.start().await?;
        let pid = service.pid().context("the service has no process id")?;
        let watch = Watch::start(pid);
        let stats = self.site.stats().await?;
        let bytes = stats["store"]["bytes"]
            .as_u64()
            .context("the service does not report the size of its store")?;
        let pages = dashboard::measure_pages(self.site, landmarks).await?;
        site::rest(self.plan).await?;
        let meter = self.meter(&service)?;
        let running = meter.start();
        let report = self
            .loads()
            .stored(self.site.ingest(), CONNECTIONS, usize::try_from(count)?)
            .await?;
        let spent = running.end();
        let accepted = report.counts.accepted;
        self.note("new events", &report, accepted);
        site::rest(self.plan).await?;
        let (delivered, problems) = round::deliver(
            &self.loads(),
            self.site.ingest(),
            meter,
            self.sink.address(),
            usize::try_from(count)?,
        )
        .await?;
        self.problems.extend(problems);
        self.filler.size.add(accepted + count);
        let peak = Memory::of(pid).map(|_| watch.peak());
        service.end().await?;
        Ok(Served {
            new: Rate {
                per_second: per_second(accepted, report.seconds),
                processor_us: spent.per_event(accepted),
            },
            delivered,
            bytes,
            peak,
            pages,
        })
    }

    /// Deletes the events that were written to expire. This process does it, so it stands for the service.
    async fn purge(&mut self) -> anyhow::Result<Rate> {
        let store = OpenStore::open(self.url, None, &self.clock).await?;
        let backend = store.backend();
        let expected = self.filler.size.expiring;
        let now = self.clock.now();
        // They are the only entries that expire by then.
        let order = purge::order(EXPIRING, now, now.plus(EXPIRING_FOR * 2));
        let running = Meter::new(std::process::id(), self.database).start();
        let started = Instant::now();
        let purged = purge::run(&*backend, &order, |_| ()).await?;
        let seconds = started.elapsed().as_secs_f64();
        let spent = running.end();
        store.close().await;
        if (purged.events, purged.ledger) != (expected, expected) {
            self.problems.push(format!(
                "purge: {expected} events were written to expire, but {} payloads and {} ledger entries were deleted",
                purged.events, purged.ledger
            ));
        }
        self.filler.size.subtract(&purged);
        Ok(Rate {
            per_second: per_second(purged.events, seconds),
            processor_us: spent.per_event(purged.events),
        })
    }

    fn meter(&self, service: &Service) -> anyhow::Result<Meter<'a>> {
        let pid = service.pid().context("the service has no process id")?;
        Ok(Meter::new(pid, self.database))
    }

    fn loads(&self) -> Loads<'a> {
        Loads {
            secret: self.secret,
            seconds: self.plan.seconds,
        }
    }

    fn note(&mut self, label: &str, report: &Report, expected: u64) {
        self.problems.extend(unexpected(label, report, expected));
    }
}

/// New events to send at this size.
fn measured(entries: u64) -> u64 {
    (entries / 5).clamp(MEASURED_MIN, MEASURED_MAX)
}

/// Events to purge at this size.
fn purged(entries: u64) -> u64 {
    (entries / 5).min(MEASURED_MAX)
}

/// How often to send so many ids.
fn passes(ids: usize) -> usize {
    COLD_MIN.div_ceil(ids.max(1)).min(PASSES_MAX)
}

fn per_second(events: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        events as f64 / seconds
    } else {
        0.0
    }
}

fn bytes_each(bytes: u64, empty_bytes: u64, entries: u64) -> f64 {
    bytes.saturating_sub(empty_bytes) as f64 / entries.max(1) as f64
}

fn slowest(pages: &[Page]) -> SlowestPage {
    let slowest = pages
        .iter()
        .max_by(|one, other| one.worst_ms().total_cmp(&other.worst_ms()));
    slowest.map_or_else(SlowestPage::default, |page| SlowestPage {
        path: page.path().to_owned(),
        ms: page.worst_ms(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_add_little_to_what_is_stored() {
        assert_eq!(measured(10_000), 10_000);
        assert_eq!(measured(100_000), 20_000);
        assert_eq!(measured(10_000_000), 200_000);
        assert_eq!((purged(10_000), purged(10_000_000)), (2_000, 200_000));
        // After each size, fewer are stored than the next one has.
        for entries in [10_000, 100_000, 1_000_000, 10_000_000] {
            assert!(entries + 2 * measured(entries) < entries * 10);
        }
    }

    #[test]
    fn few_ids_are_sent_in_several_passes() {
        assert_eq!(passes(400_000), 1);
        assert_eq!(passes(40_000), 2);
        assert_eq!(passes(4_000), 10);
        assert_eq!(passes(0), 10);
    }

    #[test]
    fn an_empty_store_is_no_part_of_an_events_bytes() {
        assert!((bytes_each(2_600_000, 100_000, 1_000) - 2_500.0).abs() < 1e-9);
        assert!(bytes_each(0, 100_000, 1_000).abs() < 1e-9);
    }
}
