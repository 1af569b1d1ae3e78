//! A store that Citus distributes over several servers: the doctor checks whether it does. Plain tables stand in for
//! the metadata of Citus; `crates/hapax-store-postgres/tests/citus.rs` examines a real cluster.

use hapax_test_postgres::Server;

use hapax_testkit::{Outcome, Sender, Setup, Sink, run};

/// The metadata of Citus when every table is distributed but there is no worker.
const ALONE: &str = "
    SET allow_system_table_mods = on;
    CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod \"char\", repmodel \"char\");
    CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass, shardid int8);
    CREATE TABLE pg_catalog.pg_dist_placement (shardid int8, groupid int4);
    CREATE TABLE pg_catalog.pg_dist_node (nodename text, nodeport int4, groupid int4, noderole text);
    INSERT INTO pg_catalog.pg_dist_partition
        SELECT c.oid, CASE WHEN bool_or(a.attname = 'bucket') THEN 'h' ELSE 'n' END,
               CASE WHEN bool_or(a.attname = 'bucket') THEN 's' ELSE 't' END
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'hapax'::regnamespace AND c.relkind = 'r' GROUP BY c.oid;
    INSERT INTO pg_catalog.pg_dist_shard SELECT 'hapax.ledger', no FROM generate_series(1, 32) AS n (no);
    INSERT INTO pg_catalog.pg_dist_placement SELECT no, 0 FROM generate_series(1, 32) AS n (no);
    INSERT INTO pg_catalog.pg_dist_node VALUES ('coordinator', 5432, 0, 'primary');";

const TWO_WORKERS: &str = "
    INSERT INTO pg_catalog.pg_dist_node VALUES ('worker-1', 5432, 1, 'primary'), ('worker-2', 5432, 2, 'primary');
    UPDATE pg_catalog.pg_dist_placement SET groupid = 1 + shardid % 2;";

#[tokio::test]
async fn the_doctor_finds_shards_that_are_all_on_the_coordinator() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let sink = Sink::start().await;
    let setup = Setup::stripe_to(&sink).database(&database.url());
    setup.write();
    let doctor = async || -> Outcome { run(setup.path(), &["doctor"]).await };

    let without = doctor().await;
    without.assert_code(0);
    assert!(!without.stdout.contains("citus"), "{without:#?}");

    let admin = database.client().await.unwrap();
    admin.batch_execute(ALONE).await.unwrap();
    let alone = doctor().await;
    alone.assert_code(5);
    assert!(
        alone
            .stdout
            .contains("FAIL  citus: all 32 shards are on the coordinator"),
        "{alone:#?}"
    );
    assert!(alone.stdout.contains("citus_add_node"), "{alone:#?}");

    admin.batch_execute(TWO_WORKERS).await.unwrap();
    let spread = doctor().await;
    spread.assert_code(0);
    assert!(
        spread
            .stdout
            .contains("worker-1:5432 has 16, worker-2:5432 has 16"),
        "{spread:#?}"
    );

    admin
        .batch_execute(
            "DELETE FROM pg_catalog.pg_dist_partition WHERE logicalrelid = 'hapax.noted'::regclass",
        )
        .await
        .unwrap();
    let left_out = doctor().await;
    left_out.assert_code(5);
    assert!(
        left_out
            .stdout
            .contains("create_distributed_table('hapax.noted', 'bucket'"),
        "{left_out:#?}"
    );

    let service = setup.start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}
