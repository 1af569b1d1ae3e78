//! Stopping: running attempts finish or are released, and nothing is lost.

use std::time::Duration;

use hapax_core::EventStatus;
use hapax_engine::{AttemptResult, Refusal, ShutdownReport};

use crate::harness::{SECOND, World};

#[tokio::test(start_paused = true)]
async fn what_runs_is_finished_and_written_down() {
    let world = World::new(|_, _| (5 * SECOND, AttemptResult::done(200)));
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    let report = engine.shutdown(10 * SECOND).await;
    assert_eq!(
        report,
        ShutdownReport {
            finished: 1,
            released: 0
        }
    );
    assert_eq!(world.record(id).await.status, EventStatus::Completed);
    let refused = engine.accept(vec![world.incoming("evt_2", "")]).await;
    assert!(matches!(refused, Err(Refusal::ShuttingDown { .. })));
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_given_back_and_made_again_under_the_same_key() {
    let world = World::new(|_, call| {
        (
            if call == 1 { 25 * SECOND } else { Duration::ZERO },
            AttemptResult::done(200),
        )
    });
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    let report = engine.shutdown(SECOND).await;
    assert_eq!(
        report,
        ShutdownReport {
            finished: 0,
            released: 1
        }
    );
    let _engine = world.start().await;
    world.until(id, EventStatus::Completed).await;
    let seen = world.sink.seen();
    assert_eq!(seen.iter().map(|seen| seen.attempt).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(seen[0].key, seen[1].key);
}
