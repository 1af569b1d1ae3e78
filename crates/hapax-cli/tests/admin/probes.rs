//! Health, readiness and metrics: open to all, and truthful.

use hapax_api::views::Phase;

use super::site::Site;

#[tokio::test(flavor = "multi_thread")]
async fn probes_need_no_token_and_metrics_have_their_names() {
    let site = Site::start().await;
    site.accept("evt_1").await;
    assert_eq!(site.send("GET", "/healthz", &[], "").await.status, 200);
    let ready = site.send("GET", "/readyz", &[], "").await;
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json()["checks"]["store"]["ok"], true);
    let metrics = site.send("GET", "/metrics", &[], "").await;
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    let text = String::from_utf8(metrics.body.to_vec()).unwrap();
    assert!(
        text.contains("hapax_received_total{source=\"stripe\",result=\"accepted\"} 1"),
        "{text}"
    );
    assert!(
        text.contains("hapax_ledger_entries{source=\"stripe\"} 1"),
        "{text}"
    );
    site.send("GET", "/no-such-path", &[], "")
        .await
        .assert_problem(404, "unknown_path");
    site.send("POST", "/healthz", &[], "")
        .await
        .assert_problem(405, "method_not_allowed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_starts_or_stops_is_alive_but_not_ready() {
    let site = Site::start().await;
    for (phase, name) in [(Phase::Starting, "starting"), (Phase::Stopping, "stopping")] {
        site.readiness.enter(phase);
        let ready = site.send("GET", "/readyz", &[], "").await;
        assert_eq!((ready.status, ready.json()["phase"].as_str()), (503, Some(name)));
        assert_eq!(site.send("GET", "/healthz", &[], "").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_gone_makes_it_unready_and_leaves_health_and_metrics() {
    let site = Site::start().await;
    site.store.close().await;
    let ready = site.send("GET", "/readyz", &[], "").await;
    assert_eq!(
        (ready.status, ready.json()["ready"].as_bool()),
        (503, Some(false))
    );
    assert!(ready.json()["checks"]["store"]["message"].is_string());
    assert_eq!(site.send("GET", "/healthz", &[], "").await.status, 200);
    assert_eq!(site.send("GET", "/metrics", &[], "").await.status, 200);
    site.get("events").await.assert_problem(503, "store_unavailable");
}
