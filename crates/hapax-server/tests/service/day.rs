//! A day of traffic in a minute: a clock that the test controls, real deliveries, and a storm of retries in the
//! afternoon.

pub(super) mod clock;
mod traffic;

use std::sync::Arc;
use std::time::Duration;

use hapax_server::{Server, Tuning};
use hapax_testkit::Sink;

use super::site::{INHOUSE, STRIPE, admin, configuration};
use clock::DayClock;
use traffic::Traffic;

/// How often alerts are evaluated, and so how far the clock moves at a time.
const STEP: Duration = Duration::from_secs(10);
const STEPS: u64 = 24 * 360;
/// The storm begins at two in the afternoon and lasts five minutes.
const STORM: std::ops::Range<u64> = 14 * 360..14 * 360 + 30;
/// The time within which an alert has to fire.
const WINDOW: Duration = Duration::from_secs(600);
/// Traffic is collected at least this often, so that no minute is dropped before it is.
const GATHER_EVERY: u64 = 180;

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_retries_in_a_day_fires_its_alert_within_the_window_and_is_named() {
    let clock = Arc::new(DayClock::that_ends_now(STEP * STEPS as u32));
    let mut receiver = Sink::start().await;
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{STRIPE}{INHOUSE}[alerts.receivers.team]\nkind = \"webhook\"\nurl = \"{}\"\n",
        receiver.url()
    );
    let tuning = Tuning {
        clock: clock.clone(),
        ..Tuning::default()
    };
    let server = Server::start(configuration(folder.path(), &text), tuning)
        .await
        .unwrap();
    let mut traffic = Traffic::to(&server).await;
    for step in 0..STEPS {
        clock.advance(STEP);
        traffic.pass(step, &clock).await;
        server.alerts().step().await;
        if step % GATHER_EVERY == 0 {
            assert_eq!(
                admin(&server, "GET", "/api/v1/stats?range=1h", "").await.status,
                200
            );
        }
    }
    let began = clock.at(STEP * STORM.start as u32);
    let fired = receiver.next().await;
    let resolved = receiver.next().await;
    assert_eq!(
        receiver.rest().len(),
        0,
        "one alert, fired once and resolved once"
    );
    let [fired, resolved] =
        [fired, resolved].map(|seen| -> serde_json::Value { serde_json::from_slice(&seen.body).unwrap() });
    assert_eq!(
        (&fired["type"], &resolved["type"]),
        (&"alert.firing".into(), &"alert.resolved".into())
    );
    for message in [&fired, &resolved] {
        assert_eq!(message["data"]["alert"], "dedupe_rate", "{message}");
        assert_eq!(message["data"]["subject"], "inhouse", "{message}");
    }
    let since: hapax_core::Timestamp = fired["data"]["since"].as_str().unwrap().parse().unwrap();
    assert!(
        since > began && since < began.plus(WINDOW),
        "the storm began at {began}, the alert fired at {since}"
    );
    let found = traffic::duplicates(&server).await;
    let line = found
        .lines()
        .find(|line| line.starts_with("inhouse: largest gap"));
    assert!(line.is_some_and(|line| line.contains("3 h")), "{found}");
    server.stop().await;
}
