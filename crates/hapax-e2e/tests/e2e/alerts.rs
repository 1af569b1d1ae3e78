//! Alerts from the outside: real receivers, real crashes, real replicas. Every event is delivered twice.

mod told;

use std::time::Duration;

use hapax_test_postgres::Server;
use serde_json::Value;

use hapax_testkit::{Reply, Sender, Service, Setup, Sink, eventually};
use told::{assert_signed, receiver, summaries, told};

const LIMIT: Duration = Duration::from_secs(60);

/// Stripe's events go to a sink that refuses them for good; alerts are evaluated three times a second.
fn setup(app: &Sink, receivers: &str) -> Setup {
    Setup::stripe_to(app).table(&format!("[alerts]\nresolve_after = \"1s\"\n{receivers}"))
}

async fn refusing() -> Sink {
    Sink::that(|_| Reply::Status(410)).await
}

/// Makes a dead letter.
async fn kill_one(service: &Service, event: &str) {
    let id = service.deliver_twice(&Sender::of("stripe").event(event)).await;
    service.until_event_is(&id, "dead", LIMIT).await;
}

/// Removes its cause.
async fn clear(service: &Service) {
    let discard = ["dead", "discard", "--all", "--destination", "app"];
    service.hapax(&discard).await.assert_code(0);
}

/// Waits until this process has evaluated the rules and reports the result.
async fn until_judged(service: &Service, fires: bool) {
    eventually("the metric says so", LIMIT, async || {
        let metrics = service.admin("/metrics").await.text();
        let line = "hapax_alert_firing{alert=\"dead_letters\",subject=\"app\"} 1";
        (metrics.contains(line) == fires).then_some(())
    })
    .await;
}

/// Waits until the store records that all receivers were notified.
async fn until_noted(service: &Service) {
    eventually("everybody was told", LIMIT, async || {
        let alerts = service.api("alerts").await;
        let owed = alerts["alerts"][0]["undelivered"].as_array()?;
        owed.is_empty().then_some(())
    })
    .await;
}

async fn until_forgotten(service: &Service) {
    eventually("nothing is left of it", LIMIT, async || {
        let alerts = service.api("alerts").await;
        alerts["alerts"].as_array()?.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_alert_fires_once_and_resolves_once_though_the_process_is_killed_in_between() {
    let (app, pager) = (refusing().await, Sink::start().await);
    let mut service = setup(&app, &receiver("pager", &pager)).start().await;
    kill_one(&service, "evt_1").await;
    until_noted(&service).await;
    service.kill().await;
    service.start_again().await;
    until_judged(&service, true).await;
    clear(&service).await;
    pager.until_received(2, LIMIT).await;
    until_forgotten(&service).await;
    assert_eq!(told(&pager), ["alert.firing", "alert.resolved"]);
    assert_signed(&pager.received()[0]);
    assert_signed(&pager.received()[1]);
    let ids: Vec<_> = pager
        .received()
        .iter()
        .map(|one| one.header("webhook-id").map(str::to_owned))
        .collect();
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn a_message_that_was_being_sent_when_the_process_died_is_sent_again_under_its_id() {
    let (app, pager) = (refusing().await, Sink::that(|_| Reply::Hang).await);
    let soon = receiver("pager", &pager).replace("timeout = \"5s\"", "timeout = \"1s\"");
    let mut service = setup(&app, &soon).start().await;
    kill_one(&service, "evt_1").await;
    pager.until_received(1, LIMIT).await;
    service.kill().await;
    pager.behave(|_| Reply::Status(200));
    service.start_again().await;
    pager.until_received(2, LIMIT).await;
    until_noted(&service).await;
    let received = pager.received();
    let id = |place: usize| received[place].header("webhook-id").map(str::to_owned);
    assert_eq!(told(&pager), ["alert.firing", "alert.firing"]);
    assert_eq!(id(0), id(1));
}

#[tokio::test]
async fn two_replicas_on_one_postgres_send_one_message() {
    let (app, pager) = (refusing().await, Sink::start().await);
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let start = || {
        setup(&app, &receiver("pager", &pager))
            .database(&database.url())
            .start()
    };
    let (one, other) = (start().await, start().await);
    kill_one(&one, "evt_1").await;
    until_judged(&one, true).await;
    until_judged(&other, true).await;
    pager.until_received(1, LIMIT).await;
    clear(&other).await;
    pager.until_received(2, LIMIT).await;
    until_forgotten(&one).await;
    until_judged(&one, false).await;
    until_judged(&other, false).await;
    assert_eq!(told(&pager), ["alert.firing", "alert.resolved"]);
}

#[tokio::test]
async fn a_receiver_that_is_down_is_told_once_when_it_is_back() {
    let (app, pager) = (refusing().await, Sink::start().await);
    let service = setup(&app, &receiver("pager", &pager)).start().await;
    let address = pager.stop().await;
    kill_one(&service, "evt_1").await;
    let undelivered = eventually("it was tried", LIMIT, async || {
        let alerts = service.api("alerts").await;
        let message = alerts["alerts"][0]["undelivered"][0].clone();
        message["error"].is_string().then_some(message)
    })
    .await;
    assert_eq!(undelivered["says"], "firing", "{undelivered}");
    let pager = Sink::at(address).await;
    pager.until_received(1, LIMIT).await;
    clear(&service).await;
    pager.until_received(2, LIMIT).await;
    until_forgotten(&service).await;
    assert_eq!(told(&pager), ["alert.firing", "alert.resolved"]);
}

#[tokio::test]
async fn a_receiver_that_hangs_delays_neither_the_others_nor_accepts() {
    let (app, pager) = (refusing().await, Sink::start().await);
    let silent = Sink::that(|_| Reply::Hang).await;
    let script = "[alerts.receivers.script]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \
                  \"cat > told.json; echo \\\"$HAPAX_ALERT_TYPE $HAPAX_ALERT_RULE $HAPAX_ALERT_SUBJECT\\\" >> told.txt\"]\n";
    let silent_receiver = receiver("a-silent-one", &silent).replace("timeout = \"5s\"", "timeout = \"60s\"");
    let receivers = format!("{silent_receiver}{}{script}", receiver("pager", &pager));
    let service = setup(&app, &receivers).start().await;
    kill_one(&service, "evt_1").await;
    silent.until_received(1, LIMIT).await;
    pager.until_received(1, LIMIT).await;
    app.behave(|_| Reply::Status(200));
    for number in 2..20 {
        let event = Sender::of("stripe").event(&format!("evt_{number}"));
        service.deliver_twice(&event).await;
    }
    clear(&service).await;
    pager.until_received(2, LIMIT).await;
    assert_eq!(silent.received().len(), 1, "one message is with it all the time");
    let text = eventually("the command ran twice", LIMIT, async || {
        let text = std::fs::read_to_string(service.setup.path().join("told.txt")).ok()?;
        (text.lines().count() == 2).then_some(text)
    })
    .await;
    assert_eq!(
        text,
        "alert.firing dead_letters app\nalert.resolved dead_letters app\n"
    );
    let document = std::fs::read_to_string(service.setup.path().join("told.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["type"], "alert.resolved");
}

#[tokio::test]
async fn the_command_line_the_api_and_the_overview_say_what_fires_and_what_to_run() {
    let (app, pager) = (refusing().await, Sink::start().await);
    let service = setup(&app, &receiver("pager", &pager)).start().await;
    let quiet = service.hapax(&["alerts"]).await;
    quiet.assert_code(0);
    assert_eq!(quiet.stdout, "nothing fires\n");
    let tested = service.hapax(&["alerts", "test", "--json"]).await;
    tested.assert_code(0);
    assert_eq!(tested.json()["results"][0]["delivered"], true);
    assert_eq!(told(&pager), ["alert.test"]);
    service.hapax(&["alerts", "test", "nobody"]).await.assert_code(4);

    kill_one(&service, "evt_1").await;
    until_judged(&service, true).await;
    let firing = service.hapax(&["alerts"]).await;
    firing.assert_code(5);
    assert!(
        firing
            .stdout
            .contains("Destination app: there are dead letters (1)"),
        "{firing:#?}"
    );
    assert!(
        firing.stdout.contains("hapax dead list --destination app"),
        "{firing:#?}"
    );
    service
        .hapax(&["dead", "list", "--destination", "app"])
        .await
        .assert_code(0);
    let overview = service.api("overview").await;
    let attention = overview["attention"].as_array().unwrap();
    assert_eq!(attention.len(), 1, "it is said once: {overview}");
    assert!(attention[0]["firing_since"].is_string(), "{overview}");
    assert!(
        summaries(&pager)
            .iter()
            .any(|one| one.contains("dead letters (1)"))
    );

    pager.behave(|_| Reply::Status(500));
    let refused = service.hapax(&["alerts", "test", "pager"]).await;
    refused.assert_code(5);
    assert!(refused.stdout.contains("it answered 500"), "{refused:#?}");
    assert!(
        !service.log().contains("hunter2"),
        "the URL of a receiver is a secret"
    );
}

#[tokio::test]
async fn a_reload_takes_over_other_limits_and_receivers() {
    let (app, pager) = (refusing().await, Sink::start().await);
    let mut service = setup(&app, "").start().await;
    kill_one(&service, "evt_1").await;
    until_judged(&service, true).await;
    let before = service.setup.tables();
    let off = before.replace("[alerts]", "[alerts]\ndead_letters = false");
    service.reload(|setup| setup.with_tables(&off));
    until_judged(&service, false).await;
    let on = format!("{before}{}", receiver("pager", &pager));
    service.reload(|setup| setup.with_tables(&on));
    pager.until_received(1, LIMIT).await;
    assert_eq!(told(&pager), ["alert.firing"]);
}
