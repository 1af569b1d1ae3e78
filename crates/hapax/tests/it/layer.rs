//! The layer: a route whose effect happens once.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Router};
use futures_util::future::join_all;
use hapax::Inbox;
use hapax::outbox::{self, Call};
use hapax::webhook::{InboxLayer, Source, Tx, Webhook};
use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tower::ServiceExt as _;

use crate::sqlx_postgres::Sqlx;
use crate::stripe::{SECRET, body, delivery, read};
use crate::subject::{ADD, Subject as _};

const BALANCE: &str = "select balance from account";

/// Signals that the handler has begun, and when it may continue.
type Gate = (oneshot::Sender<()>, oneshot::Receiver<()>);

/// How a handler ends after it has added one.
#[derive(Clone)]
enum End {
    Well,
    Refusing,
    Panicking,
    Keeping(Arc<Mutex<Option<Tx>>>),
    Swallowing,
    Waiting(Arc<Mutex<Option<Gate>>>),
}

async fn handler(
    State(end): State<End>,
    mut tx: Tx,
    Extension(webhook): Extension<Webhook>,
    raw: String,
) -> (StatusCode, String) {
    assert_eq!(raw.as_bytes(), webhook.body());
    sqlx::query(ADD).execute(&mut *tx).await.unwrap();
    outbox::stage(&mut tx, Call::http("https://mail.example.com/send").body("mail"))
        .await
        .unwrap();
    let id = webhook.event().event_id().to_owned();
    match end {
        End::Well => {}
        End::Refusing => return (StatusCode::CONFLICT, "not now".to_owned()),
        End::Panicking => panic!("told to panic"),
        End::Keeping(place) => *place.lock() = Some(tx),
        End::Swallowing => drop(sqlx::query("select 1 / 0").execute(&mut *tx).await),
        End::Waiting(gate) => {
            let (begun, go) = gate.lock().take().unwrap();
            begun.send(()).unwrap();
            go.await.unwrap();
        }
    }
    (StatusCode::CREATED, format!("handled {id}"))
}

fn app(subject: &Sqlx, end: End) -> Router {
    let source = Source::provider("stripe", &[SECRET]).unwrap();
    let inbox = Inbox::new("billing")
        .unwrap()
        .wait(std::time::Duration::from_millis(50));
    let layer = InboxLayer::new(source, inbox, subject.pool.clone());
    Router::new()
        .route("/webhooks/stripe", post(handler))
        .layer(layer)
        .with_state(end)
}

async fn deliver(subject: &Sqlx, end: End, raw: &str) -> (u16, String) {
    read(app(subject, end).oneshot(delivery(raw)).await.unwrap()).await
}

/// Delivers the event again: it takes effect once.
async fn comes_again(subject: &Sqlx) {
    assert_eq!(
        deliver(subject, End::Well, &body("evt_1")).await,
        (201, "handled evt_1".to_owned())
    );
    let (status, text) = deliver(subject, End::Well, &body("evt_1")).await;
    assert_eq!(
        (status, text.as_str()),
        (200, r#"{"event_id":"evt_1","status":"duplicate"}"#)
    );
    assert_eq!(subject.number(BALANCE).await, 1);
    assert_eq!(subject.number("select count(*) from hapax_outbox").await, 1);
}

async fn fails_and_comes_again(end: impl Fn() -> End, status: u16, text: &str) {
    let subject = Sqlx::new().await;
    for _ in 0..2 {
        let answer = deliver(&subject, end(), &body("evt_1")).await;
        assert!(answer.0 == status && answer.1.contains(text), "{answer:?}");
        assert_eq!(subject.number(BALANCE).await, 0);
    }
    comes_again(&subject).await;
}

#[tokio::test]
async fn a_route_behind_the_layer_takes_effect_once() {
    let subject = Sqlx::new().await;
    comes_again(&subject).await;
    let other = r#"{"id":"evt_1","type":"invoice.paid","data":{"amount":1}}"#;
    let (status, text) = deliver(&subject, End::Well, other).await;
    assert_eq!(
        (status, text.as_str()),
        (200, r#"{"event_id":"evt_1","status":"conflict"}"#)
    );
    assert_eq!(subject.number(BALANCE).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_deliveries_at_once_one_reaches_the_handler() {
    let subject = Sqlx::new().await;
    let raw = body("evt_1");
    let deliver = |_| deliver(&subject, End::Well, &raw);
    let first: Vec<_> = join_all((0..16).map(deliver)).await;
    let handled = first.iter().filter(|(status, _)| *status == 201).count();
    assert_eq!(handled, 1);
    assert!(
        first.iter().all(|(status, _)| [200, 201, 503].contains(status)),
        "{first:?}"
    );
    assert_eq!(subject.number(BALANCE).await, 1);
}

#[tokio::test]
async fn another_answer_than_2xx_rolls_back_and_is_passed_on() {
    fails_and_comes_again(|| End::Refusing, 409, "not now").await;
}

#[tokio::test]
async fn a_panic_rolls_back_and_is_answered() {
    fails_and_comes_again(|| End::Panicking, 500, "handler_failed").await;
}

#[tokio::test]
async fn a_success_over_a_failed_statement_is_none() {
    fails_and_comes_again(|| End::Swallowing, 500, "handler_failed").await;
}

#[tokio::test]
async fn a_transaction_that_outlives_its_handler_is_rolled_back() {
    fails_and_comes_again(|| End::Keeping(Arc::default()), 500, "handler_failed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_hangs_up_tears_nothing_and_a_copy_meanwhile_is_in_flight() {
    let subject = Sqlx::new().await;
    let (starting, begun) = oneshot::channel();
    let (go, wait) = oneshot::channel();
    let end = End::Waiting(Arc::new(Mutex::new(Some((starting, wait)))));
    let app = app(&subject, end);
    let first = tokio::spawn(async move { app.oneshot(delivery(&body("evt_1"))).await });
    begun.await.unwrap();
    let copy = self::app(&subject, End::Well)
        .oneshot(delivery(&body("evt_1")))
        .await
        .unwrap();
    assert_eq!(copy.headers()["retry-after"], "1");
    let (status, text) = read(copy).await;
    assert!(status == 503 && text.contains("in_flight"), "{text}");
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();
    // The handler continues after the client has disconnected: a redelivery is a duplicate as soon as it is done.
    loop {
        let (status, text) = deliver(&subject, End::Refusing, &body("evt_1")).await;
        if status != 503 {
            assert!(text.contains("duplicate"), "{text}");
            break;
        }
    }
    assert_eq!(subject.number(BALANCE).await, 1);
}

#[tokio::test]
async fn a_route_without_the_layer_is_told_that_there_is_no_transaction() {
    let app = Router::new().route("/webhooks/stripe", post(async |_tx: Tx| "never"));
    for _ in 0..2 {
        let answer = read(app.clone().oneshot(delivery(&body("evt_1"))).await.unwrap()).await;
        assert!(answer.0 == 500 && answer.1.contains("InboxLayer"), "{answer:?}");
    }
}
