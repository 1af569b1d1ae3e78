//! Who may use the API, and what everyone else is answered.

use hapax_config::Role;

use super::site::{Site, TOKEN, token};

#[tokio::test(flavor = "multi_thread")]
async fn only_the_right_token_opens_any_path_of_the_api() {
    let right = format!("Bearer {TOKEN}");
    for path in [
        "/api/v1/events",
        "/api/v1/stats",
        "/api/v1/no-such-path",
        "/api/v1/events/stream",
    ] {
        // A new site for each path: after too many wrong tokens, a site checks none.
        let site = Site::start().await;
        for headers in [
            vec![],
            vec![("authorization", "Bearer wrong")],
            vec![("authorization", TOKEN)],
        ] {
            let refused = site.send("GET", path, &headers, "").await;
            refused.assert_problem(401, "unauthorized");
            assert_eq!(refused.header("www-authenticate"), Some("Bearer realm=\"hapax\""));
        }
    }
    let site = Site::start().await;
    let events = site
        .send("GET", "/api/v1/events", &[("authorization", &right)], "")
        .await;
    assert_eq!(events.status, 200);
    let unknown = site
        .send("GET", "/api/v1/no-such-path", &[("authorization", &right)], "")
        .await;
    unknown.assert_problem(404, "unknown_path");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_other_names_and_other_pages_are_refused() {
    let site = Site::start_with(None).await;
    assert_eq!(site.get("events").await.status, 200);
    let rebound = site
        .send("GET", "/api/v1/events", &[("host", "evil.example")], "")
        .await;
    rebound.assert_problem(403, "forbidden_origin");
    let path = "/api/v1/destinations/billing/pause";
    let foreign = site
        .send("POST", path, &[("origin", "https://evil.example")], "{}")
        .await;
    foreign.assert_problem(403, "forbidden_origin");
    assert_eq!(
        site.get("destinations").await.ok()["destinations"][0]["paused"],
        serde_json::Value::Null
    );
    assert_eq!(site.send("POST", path, &[], "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_changes_the_token_at_once() {
    let site = Site::start().await;
    site.admit("another", Vec::new());
    site.get("events").await.assert_problem(401, "unauthorized");
    let events = site
        .send(
            "GET",
            "/api/v1/events",
            &[("authorization", "Bearer another")],
            "",
        )
        .await;
    assert_eq!(events.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_trail_names_who_acted() {
    let site = Site::start().await;
    site.post("destinations/billing/pause", "").await.ok();
    let bearer = format!("Bearer {TOKEN}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("hapax-actor", "ada"),
        ("hapax-note", "ada"),
    ];
    site.send("POST", "/api/v1/destinations/billing/resume", &headers, "")
        .await
        .ok();
    let audit = site.get("audit").await.ok();
    let entries: Vec<_> = audit["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["who"], &one["action"], &one["detail"]))
        .collect();
    assert_eq!(
        entries,
        [
            (&"admin".into(), &"resume".into(), &"note: ada".into()),
            (&"admin".into(), &"pause".into(), &"".into())
        ]
    );
    let first = site.get("audit?limit=1").await.ok();
    let next = first["next"].as_str().unwrap();
    let second = site.get(&format!("audit?limit=1&cursor={next}")).await.ok();
    assert_eq!(second["audit"][0]["action"], "pause");

    let unnamed = "x".repeat(129);
    let headers = [
        ("authorization", bearer.as_str()),
        ("hapax-note", unnamed.as_str()),
    ];
    let refused = site
        .send("POST", "/api/v1/destinations/billing/resume", &headers, "")
        .await;
    refused.assert_problem(400, "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_methods_and_parameters_that_make_no_sense_are_refused() {
    let site = Site::start().await;
    site.post("replays", "{")
        .await
        .assert_problem(400, "malformed_body");
    site.post("replays", r#"{"qurey":{}}"#)
        .await
        .assert_problem(400, "malformed_body");
    site.post("replays", "x".repeat(1024 * 1024 + 1))
        .await
        .assert_problem(413, "body_too_large");
    site.delete("events")
        .await
        .assert_problem(405, "method_not_allowed");
    for path in [
        "events?limit=0",
        "events?limit=201",
        "events?cursor=x",
        "events?statsu=dead",
        "events?status=no",
        "events?since=noon",
    ] {
        site.get(path).await.assert_problem(400, "invalid_parameter");
    }
    site.get("audit?limit=1000")
        .await
        .assert_problem(400, "invalid_parameter");
    site.get("deliveries?status=completed")
        .await
        .assert_problem(400, "invalid_parameter");
    site.get("events/stream?since=now")
        .await
        .assert_problem(400, "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_guesses_waits_and_is_told_how_long() {
    let site = Site::start().await;
    let wrong = [("authorization", "Bearer wrong")];
    for _ in 0..6 {
        site.send("GET", "/api/v1/events", &wrong, "")
            .await
            .assert_problem(401, "unauthorized");
    }
    let right = format!("Bearer {TOKEN}");
    let waiting = site
        .send("GET", "/api/v1/events", &[("authorization", &right)], "")
        .await;
    waiting.assert_problem(429, "too_many_attempts");
    assert_eq!(waiting.header("retry-after"), Some("1"));
    let login = site.send("POST", "/login", &[], &format!("token={TOKEN}")).await;
    assert_eq!(login.status, 429);
    assert!(login.header("set-cookie").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_token_reads_and_changes_nothing() {
    let site = Site::start().await;
    site.admit(
        TOKEN,
        vec![token("reader", "a-reader-0123456789", Role::Read, None)],
    );
    let reader = [("authorization", "Bearer a-reader-0123456789")];
    let events = site.send("GET", "/api/v1/events", &reader, "").await;
    assert_eq!(events.status, 200);
    for (method, path) in [
        ("POST", "/api/v1/destinations/billing/pause"),
        ("POST", "/api/v1/replays"),
        ("DELETE", "/api/v1/ledger/stripe/evt_1"),
        ("PUT", "/api/v1/searches/mine"),
    ] {
        site.send(method, path, &reader, "{}")
            .await
            .assert_problem(403, "role_too_low");
    }
    let places = site.get("destinations").await.ok();
    assert_eq!(places["destinations"][0]["paused"], serde_json::Value::Null);
}
