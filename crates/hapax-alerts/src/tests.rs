//! Alerts with a real store and a real program as receiver, on a clock that the test controls.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Backend, Clock, Timestamp};
use hapax_store_sqlite::{Options, SqliteStore};
use parking_lot::Mutex;

use super::*;
use hapax_api::alert::State;
use hapax_api::problem::Code;
use hapax_config::{self as config, Environment};
use hapax_outbound::lookup::Lookup;
use hapax_telemetry::{Refusal, WINDOW};

/// Both clocks, moved together, or the wall clock alone.
#[derive(Debug)]
struct ManualClock(Mutex<(Timestamp, Duration)>);

impl ManualClock {
    /// A process that has just started.
    fn started() -> Arc<Self> {
        Arc::new(Self(Mutex::new((
            Timestamp::from_seconds(1_767_225_600),
            Duration::ZERO,
        ))))
    }

    fn advance(&self, by: Duration) {
        let mut now = self.0.lock();
        *now = (now.0.plus(by), now.1 + by);
    }

    fn set_back(&self, by: Duration) {
        let mut now = self.0.lock();
        now.0 = now.0.minus(by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.0.lock().0
    }

    fn elapsed(&self) -> Duration {
        self.0.lock().1
    }
}

/// A store, and a program that records its messages.
struct Site {
    folder: tempfile::TempDir,
    store: Arc<dyn Backend>,
}

/// One process that uses it.
struct Process {
    alerts: Alerts,
    metrics: Arc<Metrics>,
    clock: Arc<ManualClock>,
}

const STEP: Duration = Duration::from_secs(10);

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(ManualClock::started());
        let store = SqliteStore::open(&folder.path().join("hapax.db"), options).unwrap();
        Self {
            folder,
            store: Arc::new(store),
        }
    }

    fn book(&self) -> PathBuf {
        self.folder.path().join("sent.txt")
    }

    /// The type of each message received, one per line.
    fn sent(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.book()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn config(&self) -> Config {
        let book = self.book();
        let text = format!(
            "[sources.shop]\nprovider = \"stripe\"\nsecrets = [\"env:SECRET\"]\n\
             [alerts]\nsignature_failures = 0\n\
             [alerts.receivers.script]\nkind = \"command\"\n\
             command = [\"sh\", \"-c\", \"cat > /dev/null; test ! -e {book}.broken && echo $HAPAX_ALERT_TYPE >> {book}\"]\n",
            book = book.display()
        );
        let environment = Environment::with([("SECRET", "whsec_1")]);
        config::parse(&text, Path::new("hapax.toml"), &environment, &[]).unwrap()
    }

    fn process(&self) -> Process {
        let clock = ManualClock::started();
        let metrics = Arc::new(Metrics::new(clock.clone()));
        metrics.know([(&"shop".into(), WINDOW)], []);
        let parts = Parts {
            store: Arc::clone(&self.store),
            metrics: Arc::clone(&metrics),
            clock: clock.clone(),
            client: Client::new(Lookup::system()).unwrap(),
            outboxes: None,
        };
        Process {
            alerts: Alerts::new(parts, &self.config()).unwrap(),
            metrics,
            clock,
        }
    }
}

impl Process {
    /// A request that fails verification: the only fault in these tests.
    fn goes_wrong(&self) {
        self.metrics.source(&"shop".into()).refused(Refusal {
            at: self.clock.now(),
            code: Code::SignatureInvalid,
            detail: String::new(),
            likely: None,
        });
    }

    /// Evaluates every ten seconds for this long.
    async fn runs_for(&self, time: Duration) {
        let until = self.clock.elapsed() + time;
        while self.clock.elapsed() < until {
            self.clock.advance(STEP);
            self.alerts.step().await;
        }
    }

    fn firing(&self) -> usize {
        let known = self.alerts.known();
        known.iter().filter(|alert| alert.state == State::Firing).count()
    }
}

#[tokio::test]
async fn an_alert_fires_once_while_it_is_true_and_resolves_once_after_it() {
    let site = Site::new();
    let process = site.process();
    process.runs_for(WINDOW).await;
    process.goes_wrong();
    process.runs_for(WINDOW.checked_sub(STEP).unwrap()).await;
    assert_eq!(site.sent(), ["alert.firing"]);
    process.runs_for(Duration::from_secs(50)).await;
    assert_eq!(site.sent(), ["alert.firing"], "`resolve_after` is not over");
    process.runs_for(STEP).await;
    assert_eq!(site.sent(), ["alert.firing", "alert.resolved"]);
    process.runs_for(WINDOW).await;
    assert_eq!(site.sent().len(), 2);
    let left = site.store.values(&ValueSpace::Alerts).await.unwrap();
    assert_eq!(left, [], "nothing is left of it");
    process.goes_wrong();
    process.runs_for(STEP).await;
    assert_eq!(site.sent().len(), 3, "another time is another alert");
}

#[tokio::test]
async fn a_process_that_has_just_started_neither_repeats_an_alert_nor_ends_it() {
    let site = Site::new();
    let first = site.process();
    first.goes_wrong();
    first.runs_for(STEP).await;
    assert_eq!(site.sent(), ["alert.firing"]);
    drop(first);
    // It knows nothing of what happened before, and cannot say that all is well.
    let second = site.process();
    second.runs_for(WINDOW.checked_sub(STEP).unwrap()).await;
    assert_eq!(site.sent(), ["alert.firing"]);
    assert_eq!(second.firing(), 1);
    second.runs_for(Duration::from_secs(90)).await;
    assert_eq!(site.sent(), ["alert.firing", "alert.resolved"]);
}

#[tokio::test]
async fn of_two_processes_that_find_the_same_one_tells() {
    let site = Site::new();
    let (one, other) = (site.process(), site.process());
    for process in [&one, &other] {
        process.runs_for(WINDOW).await;
        process.goes_wrong();
        process.clock.advance(STEP);
    }
    tokio::join!(one.alerts.step(), other.alerts.step());
    one.runs_for(STEP).await;
    assert_eq!((one.firing(), site.sent().len()), (1, 1));
    for _ in 0..80 {
        tokio::join!(one.runs_for(STEP), other.runs_for(STEP));
    }
    assert_eq!(site.sent(), ["alert.firing", "alert.resolved"]);
}

#[tokio::test]
async fn what_one_process_finds_true_another_does_not_end() {
    let site = Site::new();
    let (wrong, fine) = (site.process(), site.process());
    // The other's clock is an hour behind: no two clocks are compared.
    fine.clock.set_back(Duration::from_secs(3_600));
    fine.runs_for(WINDOW).await;
    wrong.runs_for(WINDOW).await;
    wrong.goes_wrong();
    for _ in 0..50 {
        wrong.runs_for(STEP).await;
        fine.runs_for(STEP).await;
    }
    assert_eq!(site.sent(), ["alert.firing"]);
    assert_eq!((wrong.firing(), fine.firing()), (1, 1));
}

#[tokio::test]
async fn a_receiver_that_failed_is_told_again_and_in_order() {
    let site = Site::new();
    let process = site.process();
    process.runs_for(WINDOW).await;
    let broken = site.book().with_extension("txt.broken");
    std::fs::write(&broken, "").unwrap();
    process.goes_wrong();
    process.runs_for(WINDOW + Duration::from_secs(120)).await;
    assert_eq!(site.sent(), Vec::<String>::new());
    let overdue = &process.alerts.known()[0].overdue;
    assert_eq!(overdue.len(), 2);
    assert!(overdue[0].tries > 1 && overdue[1].tries == 0, "{overdue:?}");
    assert!(
        overdue[0].error.as_ref().unwrap().contains("exited with code 1"),
        "{overdue:?}"
    );
    std::fs::remove_file(&broken).unwrap();
    process.runs_for(WINDOW).await;
    assert_eq!(site.sent(), ["alert.firing", "alert.resolved"]);
}

#[tokio::test]
async fn a_rule_that_is_switched_off_ends_what_it_found() {
    let site = Site::new();
    let process = site.process();
    process.goes_wrong();
    process.runs_for(STEP).await;
    let mut config = site.config();
    config.alerts.limits.remove(&Rule::SignatureFailures);
    process.alerts.reconfigure(&config).unwrap();
    process.runs_for(Duration::from_secs(90)).await;
    assert_eq!(site.sent(), ["alert.firing", "alert.resolved"]);
}

#[tokio::test]
async fn a_test_message_says_what_came_of_it_and_an_unknown_receiver_is_named() {
    let site = Site::new();
    let process = site.process();
    let tested = process.alerts.test(None).await.unwrap();
    assert_eq!((tested.len(), &tested[0].problem), (1, &None));
    assert_eq!(site.sent(), ["alert.test"]);
    let unknown = process.alerts.test(Some("nobody")).await.unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "there is no [alerts.receivers.nobody]; configured: script"
    );
}
