//! Sources and destinations.

use hapax_testkit::{Sink, wire};

use super::desk::Desk;
use crate::site::{OTHER_SECRET, SECRET, now, stripe_headers_with};

const BODY: &str = r#"{"id":"evt_1","type":"invoice.paid"}"#;

#[tokio::test]
async fn a_refused_request_is_shown_with_the_likely_mistake_and_without_a_secret() {
    let sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    desk.twice(BODY).await;
    let headers = stripe_headers_with(OTHER_SECRET, now(), BODY.as_bytes());
    for _ in 0..2 {
        let reply = wire::post(
            desk.server.ingest_address(),
            "/in/shop",
            &headers,
            BODY.as_bytes(),
        )
        .await;
        assert_eq!(reply.status, 401);
    }
    let page = desk.until("/sources", "<code>quiet</code>").await;
    assert!(
        page.contains("signature_invalid") && page.contains("The last 2 refused requests"),
        "{page}"
    );
    for secret in [SECRET, OTHER_SECRET] {
        assert!(!page.contains(secret));
    }
    let listed = desk.get("/api/v1/sources").await.json();
    let refusals = &listed["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "shop")
        .unwrap()["refusals"];
    assert_eq!(refusals.as_array().unwrap().len(), 2, "{refusals}");
    assert_eq!(refusals[0]["code"], "signature_invalid");
}

#[tokio::test]
async fn a_source_shows_its_configuration_and_the_line_for_the_sender() {
    let sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    desk.twice(BODY).await;
    let page = desk.page("/sources").await;
    for text in [
        "/in/shop",
        "stripe",
        "body:/id",
        "1 configured, never shown",
        "app",
        "30 d",
        "1 accepted, 1 duplicates",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
}

#[tokio::test]
async fn a_destination_is_paused_with_a_reason_and_resumed() {
    let mut sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let reply = desk
        .form(
            "/destinations",
            "/destinations/app/pause",
            &[("why", "a <b>deploy</b>")],
        )
        .await;
    assert_eq!(reply.header("location").unwrap(), "/destinations?done=paused");
    let page = desk.page("/destinations").await;
    assert!(
        page.contains("Paused by local") && page.contains("a &lt;b&gt;deploy&lt;/b&gt;"),
        "{page}"
    );
    let id = desk.twice(BODY).await;
    desk.until(&format!("/events/{id}"), "○</span> held").await;
    assert!(
        desk.page("/")
            .await
            .contains("The destination app is paused by local")
    );
    assert!(sink.rest().is_empty());
    desk.form("/destinations", "/destinations/app/resume", &[]).await;
    sink.next().await;
    desk.until(&format!("/events/{id}"), "✓</span> completed").await;
    assert_eq!(
        desk.form("/destinations", "/destinations/none/pause", &[])
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_sender_that_hands_its_secret_over_is_let_in_by_a_form() {
    let sink = Sink::start().await;
    let asana = "[sources.tasks]\nprovider = \"asana\"\n";
    let desk = Desk::start_with(&sink.url(), asana).await;
    desk.twice(BODY).await;
    assert!(
        desk.page("/sources")
            .await
            .contains("/sources/tasks/registration")
    );
    let reply = desk.form("/sources", "/sources/tasks/registration", &[]).await;
    assert_eq!(
        reply.header("location").unwrap(),
        "/sources?done=registration-opened"
    );
    let audit = desk.page("/audit").await;
    assert!(audit.contains("register") && audit.contains("tasks"), "{audit}");
    assert_eq!(
        desk.form("/sources", "/sources/shop/registration", &[])
            .await
            .status,
        409
    );
}

#[tokio::test]
async fn an_outbox_that_cannot_be_read_says_so_on_its_page_and_on_the_first() {
    let sink = Sink::start().await;
    let outboxes = "[outbox.shop]\nurl = \"sqlite:FOLDER/app.db\"\n\
                    [outbox.far]\nurl = \"postgres://127.0.0.1:9/app?sslmode=verify-full&sslrootcert=/nowhere.pem\"\n";
    let desk = Desk::start_with(&sink.url(), outboxes).await;
    desk.twice(BODY).await;
    let page = desk.page("/outbox").await;
    assert!(
        page.contains("<h2>shop</h2>") && page.contains("Its table cannot be used"),
        "{page}"
    );
    let certificates = "the certificates in /nowhere.pem cannot be read";
    assert!(
        page.contains("<h2>far</h2>") && page.contains(certificates),
        "{page}"
    );
    for name in ["shop", "far"] {
        desk.until("/", &format!("The outbox {name} cannot be used"))
            .await;
    }
    assert_eq!(
        desk.form("/destinations", "/outbox/none/rows/1/retry", &[])
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn the_effective_configuration_is_shown_without_credentials() {
    let sink = Sink::start().await;
    let url = format!("{}?token=hunter2", sink.url());
    let desk = Desk::start(&url).await;
    desk.twice(BODY).await;
    let page = desk.page("/sources").await;
    assert!(
        page.contains("secrets = [&quot;*** (env:SECRET)&quot;]"),
        "{page}"
    );
    assert!(page.contains("ack = &quot;stored&quot; # default"), "{page}");
    let page = desk.page("/destinations").await;
    assert!(page.contains("max_attempts = 1 # line "), "{page}");
    assert!(!page.contains("hunter2"), "{page}");
}

#[tokio::test]
async fn a_request_to_a_name_that_no_source_has_is_shown() {
    let sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    desk.twice(BODY).await;
    assert!(!desk.page("/sources").await.contains("Unknown sources"));
    for path in ["/in/shopp", "/in/shopp", "/wp-login.php"] {
        let reply = wire::post(desk.server.ingest_address(), path, &[], b"{}").await;
        assert_eq!(reply.status, 404);
    }
    let page = desk.page("/sources").await;
    assert!(
        page.contains("There is no source named <code>shopp</code>"),
        "{page}"
    );
    assert!(page.contains("The last 2 refused requests"), "{page}");
    assert!(!page.contains("wp-login"), "{page}");
}
