//! `hapax health`.

use std::time::Duration;

use rustix::process::Signal;

use hapax_testkit::{Gate, Reply, Sender, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_service_that_takes_webhooks_is_healthy_and_one_that_is_gone_or_stopping_is_not() {
    let gate = Gate::closed();
    let behind = gate.clone();
    let sink = Sink::that(move |_| Reply::Behind(behind.clone(), 200)).await;
    let mut service = Setup::stripe_to(&sink).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_received(1, LIMIT).await;
    let healthy = service.hapax(&["health"]).await;
    assert_eq!(
        (healthy.code, healthy.stdout.as_str()),
        (Some(0), "ready\n"),
        "{healthy:#?}"
    );
    assert_eq!(service.hapax(&["health", "--json"]).await.json()["ready"], true);

    // The hanging attempt delays the shutdown for a while.
    service.signal(Signal::TERM);
    let stopping = eventually("it stops", LIMIT, async || {
        let asked = service.hapax(&["health"]).await;
        (asked.code != Some(0)).then_some(asked)
    })
    .await;
    stopping.assert_code(1);
    assert!(stopping.stderr.contains("stopping"), "{stopping:#?}");
    gate.open();
    service.ended(LIMIT).await;
    let gone = service.hapax(&["health"]).await;
    gone.assert_code(1);
    assert!(
        gone.stderr.contains(&service.setup.admin.to_string()),
        "{gone:#?}"
    );
}
