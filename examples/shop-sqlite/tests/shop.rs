//! The shop on SQLite, with deliveries as Stripe signs them.

#![expect(
    clippy::unwrap_used,
    reason = "test helpers may panic, like the tests themselves"
)]

use std::path::Path;

use axum::Router;
use axum::body::Body;
use futures_util::future::join_all;
use hapax::webhook::Source;
use hapax_verify::catalogue;
use hapax_verify::sign::Signer;
use http::Request;
use http_body_util::BodyExt as _;
use rusqlite::Connection;
use shop_sqlite::Shop;
use tower::ServiceExt as _;

const SECRET: &str = "whsec_shop";

fn open(file: &Path) -> Router {
    Shop::open(file, Source::provider("stripe", &[SECRET]).unwrap())
        .unwrap()
        .router()
}

fn checkout(event_id: &str, order: &str) -> String {
    format!(
        r#"{{"id":"{event_id}","type":"checkout.session.completed","data":{{"object":{{"client_reference_id":"{order}","amount_total":5}}}}}}"#
    )
}

async fn deliver(shop: &Router, event: &str) -> (u16, String) {
    let signer = Signer::new(catalogue::get("stripe").unwrap().proof.scheme().unwrap(), SECRET).unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let mut request = Request::post("/webhooks/stripe");
    for (name, value) in signer.sign("", now.try_into().unwrap(), "POST", "", event.as_bytes()) {
        request = request.header(name, value);
    }
    let request = request.body(Body::from(event.to_owned())).unwrap();
    let answer = shop.clone().oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn number(file: &Path, sql: &str) -> i64 {
    Connection::open(file)
        .unwrap()
        .query_row(sql, (), |row| row.get(0))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_order_is_paid_once_and_gets_one_mail_also_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let shop = open(&file);
    let orders = "with recursive n(n) as (select 1 union all select n + 1 from n where n < 20)
        insert into orders (id, email) select 'order-' || n, n || '@example.com' from n";
    Connection::open(&file).unwrap().execute_batch(orders).unwrap();

    let events: Vec<String> = (1..=20)
        .map(|n| checkout(&format!("evt_{n}"), &format!("order-{n}")))
        .collect();
    let both = events
        .iter()
        .flat_map(|event| [deliver(&shop, event), deliver(&shop, event)]);
    let answers = join_all(both).await;
    let count = |word: &str| {
        answers
            .iter()
            .filter(|(status, body)| *status == 200 && body.contains(word))
            .count()
    };
    assert_eq!((count("accepted"), count("duplicate")), (20, 20), "{answers:?}");

    drop(shop);
    let shop = open(&file);
    for event in &events {
        assert!(deliver(&shop, event).await.1.contains("duplicate"));
    }
    assert_eq!(number(&file, "select balance from account"), 100);
    assert_eq!(
        number(
            &file,
            "select count(*) from orders where status = 'paid' and payments = 1"
        ),
        20
    );
    assert_eq!(
        number(&file, "select count(distinct body ->> 'to') from hapax_outbox"),
        20
    );
    assert_eq!(number(&file, "select count(*) from hapax_outbox"), 20);
}

#[tokio::test]
async fn what_cannot_be_applied_leaves_nothing_and_is_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let shop = open(&file);
    for _ in 0..2 {
        let (status, body) = deliver(&shop, &checkout("evt_1", "nobody's")).await;
        assert!(status == 500 && body.contains("handler_failed"), "{body}");
        assert_eq!(number(&file, "select balance from account"), 0);
    }
    Connection::open(&file)
        .unwrap()
        .execute("insert into orders (id, email) values ('nobody''s', 'a')", ())
        .unwrap();
    assert!(
        deliver(&shop, &checkout("evt_1", "nobody's"))
            .await
            .1
            .contains("accepted")
    );
    assert!(
        deliver(&shop, &checkout("evt_1", "nobody's"))
            .await
            .1
            .contains("duplicate")
    );
    assert_eq!(number(&file, "select balance from account"), 5);
}
