//! The points at which the fault suite kills its own binary are not in the one that is released, so nobody else can.

use std::time::Duration;

use hapax_testkit::{Sender, Setup, Sink};

#[tokio::test]
async fn the_released_binary_has_no_fail_points() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink)
        .before("export HAPAX_FAULTS=\"$PWD\"\necho accept.before_store 1 > kill\necho 999999999 > clock")
        .start()
        .await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_effects(1, Duration::from_secs(30)).await;
}
