//! A wall clock that is set: what waits is due when its time has passed, and leases last as long as they should.

use std::time::Duration;

use hapax_core::store::{Candidates, Report};
use hapax_core::{Store, Verdict};
use hapax_store_laws::clock::START;

use crate::bench::{Bench, accept, lease};

const HOURS: Duration = Duration::from_secs(5 * 3600);
const AFTER: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_wall_clock_that_is_set_back_delays_no_retry() {
    let bench = Bench::new();
    let store = bench.open();
    accept(&store, bench.event("one").to("sink").build())
        .await
        .unwrap();
    let leased = lease(&store, "sink", Candidates::Fresh).await.unwrap();
    let report = Report {
        hold: leased.hold(),
        attempt: None,
        verdict: Verdict::Retry { after: AFTER },
    };
    store.finish(vec![report]).await.unwrap();
    bench.clock.set(START.minus(HOURS));
    assert!(
        lease(&store, "sink", Candidates::Fresh).await.is_none(),
        "not yet"
    );
    bench.clock.advance(AFTER);
    assert!(lease(&store, "sink", Candidates::Fresh).await.is_some());
}

#[tokio::test]
async fn a_wall_clock_that_is_set_ahead_ends_no_lease() {
    let bench = Bench::new();
    let store = bench.open();
    accept(&store, bench.event("one").to("sink").build())
        .await
        .unwrap();
    lease(&store, "sink", Candidates::Fresh).await.unwrap();
    bench.clock.set(START.plus(HOURS));
    assert!(store.rescue(10).await.unwrap().is_empty());
    bench.clock.advance(Duration::from_secs(61));
    assert_eq!(store.rescue(10).await.unwrap().len(), 1);
}
