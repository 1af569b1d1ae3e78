//! A stranger who claims another address, to get past an allow list or around a limit per address.

use std::process::Stdio;

use tokio::process::Command;

use super::report;
use hapax_testkit::{Delivery, Sender, Setup};

const ALLOWED: &str = "203.0.113.7";

/// Sends a well-signed event from a local address, with more headers.
async fn send(base: &str, from: &str, delivery: &Delivery, headers: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--interface",
        from,
        "--data-binary",
        std::str::from_utf8(&delivery.body).unwrap(),
    ]);
    let signed = delivery
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)));
    for header in signed.chain(headers.iter().map(|header| (*header).to_owned())) {
        curl.args(["--header", &header]);
    }
    let output = curl
        .arg(format!("{base}{}", delivery.path))
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let said = document.get("code").or_else(|| document.get("status"));
    said.and_then(|text| text.as_str()).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn an_address_in_a_header_counts_only_from_a_trusted_proxy() {
    let service = Setup::new()
        .server("trusted_proxies = [\"127.0.0.1\"]")
        .source("stripe", "stripe", &format!("allow_from = [\"{ALLOWED}\"]"))
        .start()
        .await;
    let base = format!("http://{}", service.address());
    let event = Sender::of("stripe").event("evt_1");
    let forged = [
        ("127.0.0.2", vec![format!("x-forwarded-for: {ALLOWED}")]),
        ("127.0.0.2", vec![format!("forwarded: for={ALLOWED}")]),
        // Through the proxy, which appends its client's address and passes on headers that it does not know.
        (
            "127.0.0.1",
            vec![format!("x-forwarded-for: {ALLOWED}, 198.51.100.1")],
        ),
        (
            "127.0.0.1",
            vec![format!("x-forwarded-for: {ALLOWED}, 198.51.100.1, 127.0.0.1")],
        ),
        (
            "127.0.0.1",
            vec![
                "x-forwarded-for: 198.51.100.1".to_owned(),
                format!("forwarded: for={ALLOWED}"),
            ],
        ),
        ("127.0.0.1", vec![format!("x-forwarded-for: {ALLOWED}, unknown")]),
        ("127.0.0.1", vec![]),
    ];
    let mut let_in = 0;
    for (from, headers) in &forged {
        for _ in 0..2 {
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            let said = send(&base, from, &event, &headers).await;
            let_in += usize::from(said != "address_not_allowed");
        }
    }
    report::write(
        "forged-address",
        &format!("{} ways to claim an allowed address, twice each", forged.len()),
        &format!("{let_in} let in"),
    );
    assert_eq!(let_in, 0);
    let genuine = [format!("x-forwarded-for: 192.0.2.1, {ALLOWED}")];
    for status in ["accepted", "duplicate"] {
        assert_eq!(
            send(&base, "127.0.0.1", &event, &[genuine[0].as_str()]).await,
            status
        );
    }
    let metrics = service.admin("/metrics").await.text();
    let counted = format!("reason=\"address_not_allowed\"}} {}", 2 * forged.len());
    assert!(metrics.contains(&counted), "{metrics}");
}
