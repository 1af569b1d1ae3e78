//! A second service on the same file.

use hapax_testkit::{Sender, Setup, Sink};

#[tokio::test]
async fn a_second_service_on_the_same_file_is_refused_and_the_first_goes_on() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    service.deliver_twice(&sender.event("evt_1")).await;

    let file = service.setup.store_path();
    let refused = Setup::stripe_to(&sink).store(&file).refusal().await;
    refused.assert_code(1);
    assert!(
        refused.stderr.contains("hapax.db"),
        "the message names the file: {}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("another"),
        "the message says who has it: {}",
        refused.stderr
    );

    service.deliver_twice(&sender.event("evt_2")).await;
    sink.until_effects(2, std::time::Duration::from_secs(10)).await;
    assert_eq!(sink.applications(), 2);
}

#[tokio::test]
async fn the_file_is_free_again_as_soon_as_its_service_was_killed() {
    let sink = Sink::start().await;
    let mut service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    service.deliver_twice(&delivery).await;
    service.kill().await;
    service.start_again().await;
    service.deliver(&delivery).await.assert_durable("duplicate");
}
