//! Orders are paid once, and their customers get one mail.

use futures_util::future::join_all;
use hapax_test_postgres::Server;
use tokio::sync::watch;

use crate::process::Shop;
use crate::sender::{Sender, checkout};

#[tokio::test(flavor = "multi_thread")]
async fn each_order_is_paid_once_and_gets_one_mail_however_often_stripe_delivers() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let shop = Shop::start(&database.url());
    let client = database.client().await.unwrap();
    let orders = "insert into orders (id, email) select 'order-' || n, n || '@example.com' from generate_series(1, 20) n";
    client.batch_execute(orders).await.unwrap();
    let (_address, address) = watch::channel(shop.address.clone());
    let sender = Sender::new(address);

    // Each twice at the same moment, and once more afterwards.
    let event = |n| checkout(&format!("evt_{n}"), &format!("order-{n}"), 5);
    let twice = (1..=20).flat_map(|n| [n, n]).map(|n| {
        let (sender, event) = (sender.clone(), event(n));
        async move { sender.deliver_until_safe(&event).await }
    });
    join_all(twice).await;
    for n in 1..=20 {
        let (status, body) = sender.deliver(&event(n)).await.unwrap();
        assert_eq!(
            (status, body),
            (200, format!(r#"{{"event_id":"evt_{n}","status":"duplicate"}}"#))
        );
    }
    let row = client
        .query_one(
            "select (select balance from account), (select count(*) from orders where status = 'paid' and payments = 1),
                    (select count(distinct convert_from(body, 'UTF8')::json ->> 'to') from hapax_outbox),
                    (select count(*) from hapax_outbox where state = 'pending' and consumer = 'shop')",
            &[],
        )
        .await
        .unwrap();
    let numbers: Vec<i64> = (0..4).map(|column| row.get(column)).collect();
    assert_eq!(numbers, [100, 20, 20, 20]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_applied_leaves_nothing_and_is_not_acknowledged() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let shop = Shop::start(&database.url());
    let client = database.client().await.unwrap();
    let (_address, address) = watch::channel(shop.address.clone());
    let sender = Sender::new(address);
    for _ in 0..2 {
        assert_eq!(
            sender.deliver(&checkout("evt_1", "nobody's", 5)).await.unwrap().0,
            404
        );
        assert_eq!(
            sender
                .deliver(r#"{"id":"evt_2","type":"checkout.session.completed"}"#)
                .await
                .unwrap()
                .0,
            422
        );
        assert_eq!(
            sender
                .deliver(r#"{"id":"evt_3","type":"invoice.paid"}"#)
                .await
                .unwrap()
                .0,
            200
        );
    }
    let sql = "select (select balance from account), (select count(*) from hapax_outbox), (select count(*) from hapax_inbox)";
    let row = client.query_one(sql, &[]).await.unwrap();
    let numbers: Vec<i64> = (0..3).map(|column| row.get(column)).collect();
    assert_eq!(numbers, [0, 0, 1], "only the event that is not ours is finished");

    // The order is written late, and Stripe retries.
    client
        .batch_execute("insert into orders (id, email) values ('nobody''s', 'a@example.com')")
        .await
        .unwrap();
    for _ in 0..2 {
        assert_eq!(
            sender.deliver(&checkout("evt_1", "nobody's", 5)).await.unwrap().0,
            200
        );
    }
    let balance: i64 = client
        .query_one("select balance from account", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(balance, 5);
}
