//! Redis servers that are refused at startup, and the doctor's report about them.

use hapax_test_redis::{Cluster, Server, fresh_prefix};

use hapax_testkit::{Outcome, Sender, Setup, Sink, run};

/// A service on this store has to refuse to start, and never prints the password.
async fn refusal(url: &str) -> Outcome {
    let sink = Sink::start().await;
    let refused = Setup::stripe_to(&sink).database(url).refusal().await;
    refused.assert_code(1);
    assert!(!refused.stderr.contains("hunter2"), "{refused:#?}");
    refused
}

#[tokio::test]
async fn a_redis_that_may_forget_the_ledger_is_refused_with_the_command_that_mends_it() {
    let server = Server::start(&["--maxmemory-policy", "allkeys-lru"]).unwrap();
    let refused = refusal(&server.url()).await;
    assert!(
        refused.stderr.contains("CONFIG SET maxmemory-policy noeviction"),
        "{refused:#?}"
    );

    server
        .call(&["CONFIG", "SET", "maxmemory-policy", "noeviction"])
        .unwrap();
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).database(&server.url()).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
}

#[tokio::test]
async fn a_wrong_password_is_refused_and_the_right_one_is_taken() {
    let server = Server::start(&["--requirepass", "correct horse"]).unwrap();
    let port = server.port();
    let refused = refusal(&format!("redis://:hunter2@127.0.0.1:{port}")).await;
    assert!(refused.stderr.to_lowercase().contains("password"), "{refused:#?}");
    refusal(&format!("redis://127.0.0.1:{port}")).await;

    let sink = Sink::start().await;
    let url = format!("redis://:correct%20horse@127.0.0.1:{port}");
    let service = Setup::stripe_to(&sink).database(&url).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    assert!(!service.log().contains("correct horse"), "{}", service.log());
}

#[tokio::test]
async fn one_server_is_no_cluster_and_a_cluster_is_not_one_server() {
    let (server, cluster) = (Server::shared().unwrap(), Cluster::shared().unwrap());
    let refused = refusal(&server.url().replace("redis:", "redis-cluster:").replace("/0", "")).await;
    assert!(refused.stderr.contains("redis://"), "{refused:#?}");
    let node = cluster.nodes()[0].port();
    let refused = refusal(&format!("redis://127.0.0.1:{node}")).await;
    assert!(refused.stderr.contains("redis-cluster://"), "{refused:#?}");
}

#[tokio::test]
async fn a_store_keeps_its_number_of_shards() {
    let server = Server::shared().unwrap();
    let url = server.url_with_prefix(&fresh_prefix());
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink)
        .database(&format!("{url}&shards=4"))
        .start()
        .await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let refused = refusal(&format!("{url}&shards=8")).await;
    assert!(
        refused.stderr.contains('4') && refused.stderr.contains('8'),
        "{refused:#?}"
    );
    let other = Setup::stripe_to(&sink).database(&url).start().await;
    let again = Sender::of("stripe").event("evt_1");
    other.deliver(&again).await.assert_durable("duplicate");
}

#[tokio::test]
async fn a_redis_that_keeps_nothing_is_served_with_a_warning() {
    let server = Server::start(&["--appendonly", "no"]).unwrap();
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).database(&server.url()).start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    assert!(service.log().contains("appendonly"), "{}", service.log());
}

#[tokio::test]
async fn the_doctor_says_what_a_crash_and_a_failover_would_cost() {
    let unsafe_server = Server::start(&["--appendonly", "no"]).unwrap();
    let sink = Sink::start().await;
    let setup = Setup::stripe_to(&sink).database(&unsafe_server.url());
    setup.write();
    let found = run(setup.path(), &["doctor"]).await;
    assert!(found.stdout.contains("warn"), "{found:#?}");
    for line in [
        "redis server: ",
        "redis persistence: ",
        "redis replicas: ",
        "redis memory: ",
        "redis write: ",
        "redis failover: ",
    ] {
        assert!(found.stdout.contains(line), "no `{line}` in {found:#?}");
    }

    let safe = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]).unwrap();
    let setup = Setup::stripe_to(&sink).database(&safe.url());
    setup.write();
    let found = run(setup.path(), &["doctor"]).await;
    assert!(found.stdout.contains("ok    redis persistence: "), "{found:#?}");
}

#[tokio::test]
async fn the_check_of_the_configuration_refuses_order_on_a_cluster() {
    let sink = Sink::start().await;
    let setup =
        Setup::stripe_to_with(&sink, "order_by = \"body:/id\"").database("redis-cluster://127.0.0.1:1");
    setup.write();
    let found = run(setup.path(), &["config", "check"]).await;
    assert_ne!(found.code, Some(0), "{found:#?}");
    assert!(found.stderr.contains("cannot guarantee an order"), "{found:#?}");
}
