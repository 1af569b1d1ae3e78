//! The page of one event.

use hapax_testkit::Sink;

use super::desk::Desk;

const BODY: &str = r#"{"id":"evt_1","type":"invoice.paid","amount":12345678901234567890}"#;

#[tokio::test]
async fn the_page_says_why_a_copy_is_one_and_shows_the_attempt() {
    let mut sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let id = desk.twice(BODY).await;
    sink.next().await;
    let page = desk
        .until(
            &format!("/events/{id}"),
            "1 later delivery was a duplicate because the id <code>evt_1</code>",
        )
        .await;
    for text in [
        "found at body:/id",
        "in scope <code>shop</code> was already first committed at ",
        "and secret 1 of its source, signed ",
        " duplicate arrived after the first",
        "The last 1, newest first",
        "\"amount\": 12345678901234567890",
        "attempts at 1 destinations within",
        "Export as",
    ] {
        let text = text.replace('"', "&quot;");
        assert!(page.contains(&text), "{text} in {page}");
    }
    desk.until(&format!("/events/{id}"), "done, 200").await;
    assert!(!page.contains(crate::site::SECRET));
}

#[tokio::test]
async fn markup_of_a_sender_is_shown_as_text_everywhere() {
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    let sink = Sink::answering(move |_| {
        let body = http_body_util::Full::from(evil);
        http::Response::builder().status(410).body(body).unwrap()
    })
    .await;
    let desk = Desk::start(&sink.url()).await;
    let body = format!(r#"{{"id":"{evil}","type":"{evil}","note":"{evil}"}}"#);
    let headers = [("x-evil", evil)];
    let first = desk.deliver_with(&body, &headers).await.json();
    assert_eq!(
        desk.deliver_with(&body, &headers).await.json()["status"],
        "duplicate"
    );
    let id = first["id"].as_str().unwrap();
    let path = format!("/events/{id}");
    desk.until(&path, "refused, 410").await;
    for page in [
        path.clone(),
        format!("{path}?as=raw"),
        format!("{path}?as=headers"),
        "/dead".to_owned(),
        "/".to_owned(),
        "/events".to_owned(),
    ] {
        let reply = desk.get(&page).await;
        assert_eq!(reply.status, 200, "{page}");
        assert!(
            !reply.text().contains("<script>alert") && !reply.text().contains("<img"),
            "{page}: {}",
            reply.text()
        );
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.contains("script-src 'self'") && !policy.contains("unsafe"),
            "{policy}"
        );
    }
    assert!(
        desk.page(&format!("{path}?as=headers"))
            .await
            .contains("&lt;img src=x onerror")
    );
    for shown in ["pretty", "raw", "headers"] {
        let reply = desk.get(&format!("{path}/payload?as={shown}")).await;
        assert_eq!(reply.header("content-type").unwrap(), "text/plain; charset=utf-8");
        assert_eq!(reply.header("x-content-type-options").unwrap(), "nosniff");
        assert!(reply.text().contains(evil), "{}", reply.text());
    }
}

#[tokio::test]
async fn a_long_payload_is_cut_on_the_page_and_says_so() {
    let sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let body = format!(
        r#"{{"id":"evt_1","type":"t","long":"{}END"}}"#,
        "x".repeat(300 * 1024)
    );
    let id = desk.twice(&body).await;
    let page = desk.page(&format!("/events/{id}?as=raw")).await;
    assert!(
        page.contains("Only the first 256 KiB are shown") && !page.contains("END"),
        "{}",
        page.len()
    );
    let whole = desk.get(&format!("/events/{id}/payload?as=raw")).await;
    assert_eq!(whole.text(), body);
}

#[tokio::test]
async fn another_body_under_the_id_is_compared_and_released() {
    let mut sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let id = desk.twice(BODY).await;
    sink.next().await;
    let other = BODY.replace("12345678901234567890", "12345678901234567891");
    for _ in 0..2 {
        assert_eq!(desk.deliver(&other).await.json()["status"], "conflict");
    }
    let path = format!("/events/{id}");
    let page = desk.until(&path, "Compared as JSON").await;
    assert!(
        page.contains("only in the first: </span>  &quot;amount&quot;: 12345678901234567890"),
        "{page}"
    );
    assert!(
        page.contains("only in the other: </span>  &quot;amount&quot;: 12345678901234567891"),
        "{page}"
    );
    let overview = desk.page("/").await;
    assert!(
        overview.contains("/events?q=source%3Ashop%20has%3Aconflict"),
        "{overview}"
    );
    let from = page.find("/conflicts/").unwrap();
    let action = format!("{path}{}", page[from..].split('"').next().unwrap());
    let reply = desk.form(&path, &action, &[]).await;
    assert_eq!(reply.status, 303, "{reply:?}");
    let page = desk.page(reply.header("location").unwrap()).await;
    assert!(
        page.contains("The conflicting body was released as a new event."),
        "{page}"
    );
    assert!(page.contains("Released as <a href=\"/events/"), "{page}");
    assert_eq!(&sink.next().await.body[..], other.as_bytes());
}

#[tokio::test]
async fn an_event_is_delivered_again_and_its_id_forgotten_by_forms() {
    let mut sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let id = desk.twice(BODY).await;
    let path = format!("/events/{id}");
    let first = sink.next().await;
    desk.until(&path, "done, 200").await;
    let fields = [("mode", "all"), ("to", "app"), ("why", "a test")];
    let reply = desk.form(&path, &format!("{path}/replay"), &fields).await;
    assert_eq!(reply.status, 303, "{reply:?}");
    let again = sink.next().await;
    assert_eq!(again.headers["idempotency-key"], first.headers["idempotency-key"]);
    let fields = [("source", "shop"), ("event_id", "evt_1"), ("event", id.as_str())];
    // The replay has to be finished before the id may be forgotten.
    desk.until(&path, "delivered to every destination").await;
    let reply = desk.form(&path, "/ledger/forget", &fields).await;
    assert_eq!(reply.status, 303, "{reply:?}");
    assert!(
        desk.page(&path)
            .await
            .contains("The ledger has forgotten the id <code>evt_1</code>")
    );
    assert_eq!(desk.deliver(BODY).await.json()["status"], "accepted");
    let page = desk.page("/audit").await;
    for text in ["forget", "shop/evt_1", "replay", "a test"] {
        assert!(page.contains(text), "{text} in {page}");
    }
}

#[tokio::test]
async fn what_is_no_event_is_a_page_that_says_so() {
    let sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let missing = desk.get("/events/01940000-0000-7000-8000-000000000001").await;
    assert_eq!(missing.status, 404);
    assert!(
        missing.text().contains("<h1>") && missing.text().contains("There is no event"),
        "{}",
        missing.text()
    );
    assert_eq!(desk.get("/events/nonsense").await.status, 400);
}
