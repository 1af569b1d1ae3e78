//! Addresses that a delivery never goes to: the target of a redirect, or an address that only the machine itself may
//! reach.

use std::time::Duration;

use hapax_testkit::{Reply, Sender, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let target = Sink::start().await;
    for status in [301, 302, 307, 308] {
        let location = target.url();
        let sink = Sink::that(move |_| Reply::with(status, &[("location", &location)])).await;
        let service = Setup::stripe_to_with(&sink, "max_attempts = 2").start().await;
        let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
        service.until_event_is(&id, "dead", LIMIT).await;
        assert_eq!(sink.received().len(), 2);
    }
    assert!(target.received().is_empty());
}

#[tokio::test]
async fn a_link_local_destination_is_refused() {
    for url in [
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
    ] {
        let setup = Setup::new()
            .source("stripe", "stripe", "deliver_to = [\"app\"]")
            .http("app", url, "max_attempts = 1");
        setup.write();
        let checked = hapax_testkit::run(setup.path(), &["config", "check"]).await;
        if checked.code == Some(0) {
            // An address that the configuration cannot know is refused once it is resolved: no packet is sent.
            let service = setup.start().await;
            let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
            let event = service.until_event_is(&id, "dead", LIMIT).await;
            let message = event["attempts"][0]["message"].as_str().unwrap_or_default();
            assert!(
                message.contains("link-local") || message.contains("metadata"),
                "{event}"
            );
        } else {
            checked.assert_code(3);
            assert!(
                checked.stderr.contains("link-local") || checked.stderr.contains("metadata"),
                "{checked:#?}"
            );
        }
    }
}
