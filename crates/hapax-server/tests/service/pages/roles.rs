//! Permissions on the pages.

use hapax_testkit::Sink;

use super::desk::{ADMIN, Desk, Door, READER};

const BODY: &str = r#"{"id":"evt_1","type":"invoice.paid"}"#;
const PAGES: [&str; 9] = [
    "/",
    "/events",
    "/dead",
    "/replays",
    "/sources",
    "/outbox",
    "/duplicates",
    "/destinations",
    "/audit",
];

async fn locked(sink: &Sink) -> Desk {
    Desk::start_in(tempfile::tempdir().unwrap(), &sink.url(), Door::Locked).await
}

#[tokio::test]
async fn without_a_session_every_page_leads_to_the_login() {
    let sink = Sink::start().await;
    let desk = locked(&sink).await;
    let id = desk.twice(BODY).await;
    let of_event = ["", "/payload?as=raw", "/export?as=python"].map(|rest| format!("/events/{id}{rest}"));
    for path in PAGES.into_iter().map(str::to_owned).chain(of_event) {
        let reply = desk.get(&path).await;
        assert_eq!(reply.status, 303, "{path}: {reply:?}");
        assert!(reply.header("location").unwrap().starts_with("/login"), "{path}");
        assert!(!reply.text().contains("evt_1"), "{path}");
    }
    let reply = desk
        .raw_form("/destinations/app/pause", &[], &[("csrf", "x")])
        .await;
    assert_eq!(reply.header("location").unwrap(), "/login");
}

#[tokio::test]
async fn a_token_that_only_reads_sees_forms_and_can_use_none() {
    let mut sink = Sink::start().await;
    let desk = locked(&sink).await;
    let id = desk.twice(BODY).await;
    sink.next().await;
    desk.sign_in(READER).await;
    for path in PAGES {
        desk.page(path).await;
    }
    let event = format!("/events/{id}");
    let page = desk.page(&event).await;
    assert!(page.contains("<fieldset class=\"disabled\" disabled>"), "{page}");
    assert!(
        !page.contains("export?as=curl") && page.contains("export?as=python"),
        "{page}"
    );
    let hash = "0".repeat(64);
    for action in [
        format!("{event}/replay"),
        format!("{event}/conflicts/{hash}/release"),
        "/ledger/forget".to_owned(),
        "/dead/replay".to_owned(),
        "/dead/replay/start".to_owned(),
        "/dead/discard".to_owned(),
        "/dead/restore".to_owned(),
        format!("/replays/{id}/cancel"),
        "/sources/shop/registration".to_owned(),
        "/outbox/app/rows/1/retry".to_owned(),
        "/destinations/app/pause".to_owned(),
        "/destinations/app/resume".to_owned(),
    ] {
        let reply = desk
            .form(&event, &action, &[("mode", "force"), ("q", "source:shop")])
            .await;
        assert_eq!(reply.status, 403, "{action}: {reply:?}");
    }
    assert_eq!(desk.get(&format!("{event}/export?as=curl")).await.status, 403);
    assert_eq!(desk.get(&format!("{event}/export?as=python")).await.status, 200);
    let payload = desk.get(&format!("/api/v1/events/{id}/payload")).await;
    assert_eq!(
        (payload.status, payload.text().as_str()),
        (200, BODY),
        "the download works"
    );
    assert!(sink.rest().is_empty());
    assert!(desk.page("/audit").await.contains("No actions yet"));
}

#[tokio::test]
async fn a_form_of_somebody_else_changes_nothing() {
    let sink = Sink::start().await;
    let desk = locked(&sink).await;
    desk.twice(BODY).await;
    desk.sign_in(ADMIN).await;
    for fields in [&[][..], &[("csrf", "")], &[("csrf", "guessed")]] {
        let reply = desk.raw_form("/destinations/app/pause", &[], fields).await;
        assert!((400..500).contains(&reply.status), "{reply:?}");
    }
    let foreign = [
        ("origin", "https://evil.example"),
        ("sec-fetch-site", "cross-site"),
    ];
    let reply = desk
        .raw_form("/destinations/app/pause", &foreign, &[("csrf", "x")])
        .await;
    assert_eq!(reply.status, 403, "{reply:?}");
    assert!(!desk.page("/destinations").await.contains("Paused by"));
    assert_eq!(
        desk.form("/destinations", "/destinations/app/pause", &[])
            .await
            .status,
        303
    );
    assert!(desk.page("/destinations").await.contains("Paused by"));
}
