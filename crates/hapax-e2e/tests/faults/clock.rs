//! A wall clock that jumps: weeks ahead and weeks back, while the service runs and across a restart.

use std::path::PathBuf;
use std::time::Duration;

use hapax_fail_points::CLOCK_FILE;
use hapax_test_postgres::Server;

use super::world::{LIMIT, World};
use hapax_testkit::eventually;

/// Longer than every window: data that seems this old is deleted.
const WEEKS: i64 = 70 * 86_400;
const HOURS: i64 = 5 * 3600;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_loses_and_doubles_nothing_on_sqlite() {
    jump(World::on_sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_loses_and_doubles_nothing_on_postgres() {
    jump(World::on_postgres(Server::shared().unwrap()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_loses_and_doubles_nothing_on_redis() {
    jump(World::on_shared_redis().await).await;
}

async fn jump(world: World) {
    let jumps = [HOURS, -HOURS, WEEKS, 0];
    for seconds in jumps {
        let load = world.load();
        load.until_answered(30).await;
        for replica in &world.replicas {
            let file: PathBuf = replica.service.setup.path().join(CLOCK_FILE);
            std::fs::write(file, seconds.to_string()).unwrap();
        }
        load.until_answered(60).await;
        if seconds == WEEKS {
            until_nothing_is_deleted(&world).await;
        }
        load.stop().await;
        world.settle().await;
    }
    world.verdict("the wall clock jumps", jumps.len()).await;
}

async fn until_nothing_is_deleted(world: &World) {
    let limit = LIMIT.min(Duration::from_secs(40));
    eventually("the service holds back its purge", limit, async || {
        let log = world.replicas[0].service.log();
        log.contains("nothing is deleted until they agree").then_some(())
    })
    .await;
}
