//! The examples without code. The others have their own tests.

use std::path::Path;
use std::time::Duration;

use hapax_test_postgres::Server;
use serde_json::json;

use hapax_testkit::{Repeated, Sender, Setup, deliver_all, eventually, secret_of};

const LIMIT: Duration = Duration::from_secs(30);
const ORDERS: i64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_sql_marks_each_order_paid_once() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plain-sql"));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let shop = database.client().await.unwrap();
    shop.batch_execute(&read("schema.sql")).await.unwrap();
    for number in 0..ORDERS {
        let insert = format!("insert into orders (id, email) values ('order_{number}', 'a@example.com')");
        shop.batch_execute(&insert).await.unwrap();
    }
    let service = Setup::new()
        .whole(&read("hapax.toml"))
        .before(&format!(
            "export DATABASE_URL='{}' STRIPE_WEBHOOK_SECRET='{}'",
            database.url(),
            secret_of("stripe")
        ))
        .start()
        .await;

    let sender = Sender::of("stripe");
    let mut deliveries = Vec::new();
    for number in 0..ORDERS {
        let object = json!({"client_reference_id": format!("order_{number}"), "amount_total": 100});
        let event = |kind: &str| sender.stripe_event(&format!("evt_{kind}_{number}"), kind, &object);
        deliveries.extend([
            event("checkout.session.completed"),
            event("checkout.session.expired"),
        ]);
    }
    let copies = Repeated {
        deliveries,
        each: 3,
        connections: 8,
    };
    deliver_all(service.address(), copies).await;
    eventually("every order is paid", LIMIT, async || {
        let query = "select count(*) from orders where status = 'paid' and amount = 100";
        let paid: i64 = shop.query_one(query, &[]).await.unwrap().get(0);
        (paid == ORDERS).then_some(())
    })
    .await;
    let balance: i64 = shop
        .query_one("select balance from account", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(balance, ORDERS * 100);
}
