//! The proof: events sent several times each, concurrently and in random order, through a service that is killed in the
//! middle, to a sink that fails as real handlers do. At the end everything is counted.

mod crash;
mod proof;
mod sender;
mod waves;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::book::Book;
use super::prepare::{Prepared, Recipe};
use super::service::{Settings, Site, new_secret, quoted};
use super::sink::{Effects, Faults, Sink};
use super::workspace::{Afterwards, Workspace};
use hapax_terminal::progress::Progress;

use proof::Circumstances;
pub use proof::{Proof, explain, print};
pub(super) use sender::Senders;
pub(super) use waves::Waves;

const SOURCE: &str = "demo";
const PATH: &str = "/in/demo";
const EFFECTS_FILE: &str = "effects.tsv";
pub(super) const STORE_FILE: &str = "hapax.db";
/// After the last answer, everything must be delivered within this time.
const DELIVERED_LIMIT: Duration = Duration::from_secs(120);
const DRAINED_EVERY: Duration = Duration::from_millis(50);
/// One delivery in seven fails: enough to retry often, not enough to look like an outage.
pub(super) const FAULTS: Faults = Faults {
    refuse: 50,
    fail_after_effect: 50,
    hang_up_after_effect: 50,
};

pub struct Plan {
    /// Number of different events.
    pub events: usize,
    /// Each event is sent between once and this many times in random order, and once more at the end.
    pub times_max: usize,
    /// Number of times to kill the service.
    pub kills: usize,
    /// A store to use; with `None`, a new SQLite file in the workspace.
    pub store: Option<String>,
}

pub async fn run(plan: &Plan, workspace: &Workspace) -> anyhow::Result<Proof> {
    let started = Instant::now();
    let folder = workspace.path();
    let effects = Effects::recorded_in(&folder.join(EFFECTS_FILE))?;
    let sink = Sink::start(([127, 0, 0, 1], 0).into(), effects, FAULTS).await?;
    let secret = new_secret();
    let book = Book::open(plan.store.as_deref(), folder).await?;
    let site = site(plan.store.as_deref(), folder, &sink, &book, &secret)?;
    let waves = Waves::new(plan.events, plan.times_max);
    let progress = Progress::new(waves.total() as u64);
    progress.say(format!("signing {} events", plan.events));
    let prepared = prepare(&site, &secret, plan.events).await?;
    let service = site.start().await?;
    let senders = Senders::new(site.ingest(), prepared);

    progress.say(format!(
        "sending {} deliveries of {} events",
        waves.mixed.len(),
        plan.events
    ));
    let points = crash::points(waves.mixed.len(), plan.kills);
    let ((), service) = tokio::join!(
        senders.send(&waves.mixed, &progress),
        crash::run(&site, service, points, senders.answered(), &progress),
    );
    let service = service?;
    progress.say("waiting until everything is delivered");
    let acknowledged = senders.acknowledged();
    // Running out of time is not an error here: missing events are counted as lost.
    let _ = tokio::time::timeout(DELIVERED_LIMIT, sink.effects().wait_for_events(acknowledged)).await;
    drained(&site).await?;
    progress.say("sending every event once more");
    senders.send(&waves.late, &progress).await;
    drained(&site).await?;
    progress.end();
    service.end().await?;
    let proof = Proof::new(
        &senders,
        sink.effects(),
        &book,
        &Circumstances {
            kills: plan.kills,
            took: started.elapsed(),
            folder,
        },
    )
    .await?;
    if workspace.afterwards() == Afterwards::Remove {
        book.burn().await?;
    }
    Ok(proof)
}

/// A service that delivers to a sink and to a book.
pub(super) fn site(
    store: Option<&str>,
    folder: &Path,
    sink: &Sink,
    book: &Book,
    secret: &str,
) -> anyhow::Result<Site> {
    let own = format!("sqlite:{}", folder.join(STORE_FILE).display());
    let settings = Settings {
        store_url: store.map_or(own, str::to_owned),
        encryption_key: None,
        sources: vec![(SOURCE, vec!["sink", "book"])],
        secret: secret.to_owned(),
        destinations: format!(
            "\n[destinations.sink]\nkind = \"http\"\nurl = {}\ntimeout = \"5s\"\nlease = \"6s\"\nmax_attempts = 100\n\
             backoff = {{ first = \"50ms\", cap = \"1s\" }}\n{}",
            quoted(&format!("http://{}/", sink.address())),
            book.destination("book"),
        ),
    };
    Site::create(folder, &settings)
}

/// Signs new events.
pub async fn prepare(site: &Site, secret: &str, count: usize) -> anyhow::Result<Prepared> {
    let (address, secret, seed) = (site.ingest(), secret.to_owned(), fastrand::u64(..));
    let prepare = move || {
        Prepared::new(&Recipe {
            address,
            path: PATH,
            secret: &secret,
            count,
            seed,
            conflicting_ids: None,
        })
    };
    tokio::task::spawn_blocking(prepare)
        .await
        .context("signing failed")?
}

/// Waits until the service has no unfinished deliveries: until then, another attempt may still reach the sink.
pub(super) async fn drained(site: &Site) -> anyhow::Result<()> {
    let started = Instant::now();
    while started.elapsed() < DELIVERED_LIMIT {
        if unfinished(&site.stats().await?) == Some(0) {
            return Ok(());
        }
        tokio::time::sleep(DRAINED_EVERY).await;
    }
    anyhow::bail!("the service still has unfinished deliveries after {DELIVERED_LIMIT:?}")
}

/// Unfinished deliveries according to `/api/v1/stats`.
fn unfinished(stats: &serde_json::Value) -> Option<u64> {
    let destinations = stats.get("destinations")?.as_array()?;
    let unfinished_states = ["pending", "running", "retrying", "held"];
    let count = |destination: &serde_json::Value| -> u64 {
        unfinished_states
            .iter()
            .filter_map(|state| destination.get(state)?.as_u64())
            .sum()
    };
    Some(destinations.iter().map(count).sum())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unfinished_work_is_the_sum_over_states_and_destinations() {
        let stats = json!({"destinations": [
            {"pending": 1, "running": 2, "retrying": 3, "held": 4, "dead": 100},
            {"pending": 10, "running": 0, "retrying": 0, "held": 0, "dead": 0},
        ]});
        assert_eq!(unfinished(&stats), Some(20));
        assert_eq!(unfinished(&json!({})), None);
    }
}
