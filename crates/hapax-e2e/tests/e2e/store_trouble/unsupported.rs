//! A database that is not set up as Hapax needs it: reported as such, in the response and in the log, and not as an
//! outage.

use hapax_test_postgres::Server;

use hapax_testkit::{Sender, Setup, Sink};

#[tokio::test]
async fn a_statement_that_the_database_can_never_run_is_500_and_named_in_the_log() {
    let sink = Sink::start().await;
    let database = Server::shared().unwrap().database().await.unwrap();
    let service = Setup::stripe_to(&sink).database(&database.url()).start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let admin = database.client().await.unwrap();
    admin
        .batch_execute("ALTER TABLE hapax.events RENAME TO gone")
        .await
        .unwrap();
    let refused = service.deliver(&delivery).await;
    refused.assert_problem(500, "store_unsupported");
    assert!(refused.header("retry-after").is_some());
    let searched = service.admin("/api/v1/events").await;
    let detail = searched.assert_problem(500, "store_unsupported");
    assert!(detail.contains("ERROR 42P01"), "{detail}");
    let log = service.log();
    let line = log.lines().find(|line| line.contains("accepting")).unwrap();
    assert!(
        line.contains(
            "INSERT hapax.ledger, hapax.events, hapax.work, hapax.tallies in accept/at_once: ERROR 42P01"
        ),
        "{line}"
    );
    let unescaped = line.replace('\\', "");
    assert!(
        unescaped.contains("relation \"hapax.events\" does not exist"),
        "{line}"
    );
    assert!(line.contains("retrying will not help"), "{line}");

    admin
        .batch_execute("ALTER TABLE hapax.gone RENAME TO events")
        .await
        .unwrap();
    service.deliver_twice(&delivery).await;
}
