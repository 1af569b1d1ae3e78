//! An event exported as curl, and run against the service that exported it.

use hapax_testkit::Sink;
use tokio::process::Command;

use super::desk::Desk;
use crate::site::SECRET;

#[tokio::test]
async fn a_copied_request_is_genuine_and_a_duplicate() {
    let mut sink = Sink::start().await;
    let desk = Desk::start(&sink.url()).await;
    let body = "{\"id\":\"evt_1\", \"note\":\"it's ä\"}\n";
    let id = desk.twice(body).await;
    sink.next().await;
    let script = desk.get(&format!("/events/{id}/export?as=curl")).await;
    assert_eq!(
        script.header("content-type").unwrap(),
        "text/plain; charset=utf-8"
    );
    assert!(!script.text().contains(SECRET));
    assert!(
        script.text().contains("Hapax answers that it is a duplicate"),
        "{}",
        script.text()
    );
    for _ in 0..2 {
        let ran = Command::new("sh")
            .arg("-c")
            .arg(script.text())
            .output()
            .await
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(
            said.contains("\"status\":\"duplicate\""),
            "{said}{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    assert!(sink.rest().is_empty(), "nothing takes effect again");
    for (kind, mark) in [
        ("rust", "#[test]"),
        ("python", "def test_"),
        ("typescript", "node:test"),
        ("pytest", "hapax_webhooks.testing"),
        ("vitest", "hapax-webhooks/vitest"),
    ] {
        let copy = desk.get(&format!("/events/{id}/export?as={kind}")).await;
        assert!(copy.text().contains(mark), "{}", copy.text());
    }
    assert_eq!(
        desk.get(&format!("/events/{id}/export?as=perl")).await.status,
        400
    );
}
