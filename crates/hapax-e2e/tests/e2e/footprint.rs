//! The footprint of an idle service. The promised figures apply to a release build: `HAPAX_E2E_RELEASE=1` asserts them.

use std::time::{Duration, Instant};

use hapax_testkit::{Sender, Setup, Sink};

const MIB: u64 = 1 << 20;

struct Promise {
    resident_bytes: u64,
    ready: Duration,
}

#[expect(clippy::disallowed_methods, reason = "tests have variables of their own")]
fn promise() -> Promise {
    if std::env::var_os("HAPAX_E2E_RELEASE").is_some_and(|value| value == "1") {
        Promise {
            resident_bytes: 40 * MIB,
            ready: Duration::from_millis(200),
        }
    } else {
        Promise {
            resident_bytes: 120 * MIB,
            ready: Duration::from_secs(5),
        }
    }
}

#[tokio::test]
async fn an_idle_service_is_small_and_ready_at_once() {
    let promise = promise();
    let sink = Sink::start().await;
    let setup = Setup::stripe_to(&sink);
    let started = Instant::now();
    let mut service = setup.start().await;
    let ready = started.elapsed();
    let resident = service.resident_bytes();
    println!("ready in {ready:?}, {} KiB resident", resident / 1024);
    assert!(ready < promise.ready, "ready in {ready:?}");
    assert!(resident < promise.resident_bytes, "{resident} bytes resident");

    // The same after some work, and with a store that is not new.
    for number in 0..50 {
        service
            .deliver_twice(&Sender::of("stripe").event(&format!("evt_{number}")))
            .await;
    }
    sink.until_effects(50, Duration::from_secs(20)).await;
    service.signal(rustix::process::Signal::TERM);
    service.ended(Duration::from_secs(20)).await;
    let started = Instant::now();
    service.start_again().await;
    assert!(
        started.elapsed() < promise.ready,
        "ready again in {:?}",
        started.elapsed()
    );
    assert!(service.resident_bytes() < promise.resident_bytes);
}
