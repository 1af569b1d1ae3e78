//! `hapax send`.

use hapax_testkit::{Setup, Sink, secret_of};

#[tokio::test]
async fn what_is_sent_twice_is_accepted_then_a_duplicate() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let first = service.hapax(&["send", "stripe", "--id", "evt_1"]).await;
    first.assert_code(0);
    assert!(first.stdout.contains("\"accepted\""), "{first:#?}");
    let second = service.hapax(&["send", "stripe", "--id", "evt_1"]).await;
    second.assert_code(0);
    assert!(second.stdout.contains("\"duplicate\""), "{second:#?}");
    sink.until_effects(1, std::time::Duration::from_secs(10)).await;
    assert_eq!(sink.applications(), 1);
}

#[tokio::test]
async fn many_deliveries_at_once_are_one_accepted_and_the_rest_duplicates() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sent = service
        .hapax(&["send", "stripe", "--times", "40", "--concurrency", "8", "--json"])
        .await;
    let lines = sent.json_lines();
    let summary = lines.last().unwrap();
    assert_eq!(lines.len(), 41);
    assert_eq!(
        (&summary["results"]["accepted"], &summary["results"]["duplicate"]),
        (&1.into(), &39.into()),
        "{summary}"
    );
}

#[tokio::test]
async fn a_wrong_secret_is_refused_and_ends_with_1() {
    let service = Setup::new().source("github", "github", "").start().await;
    let to = format!("http://{}/in/github", service.address());
    let refused = service
        .hapax(&["send", "github", "--to", &to, "--secret", "another-secret"])
        .await;
    refused.assert_code(1);
    assert!(refused.stdout.contains("signature_invalid"), "{refused:#?}");
    for expected in ["accepted", "duplicate"] {
        let sent = service
            .hapax(&[
                "send",
                "github",
                "--to",
                &to,
                "--secret",
                &secret_of("github"),
                "--id",
                "guid",
            ])
            .await;
        sent.assert_code(0);
        assert!(sent.stdout.contains(expected), "{sent:#?}");
    }
}

#[tokio::test]
async fn a_body_of_ones_own_is_signed_and_sent_as_it_is() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let body = br#"{"id":"evt_file","type":"mine","pad":"  \u00fc "}"#;
    std::fs::write(service.setup.path().join("body.json"), body).unwrap();
    for expected in ["accepted", "duplicate"] {
        let sent = service.hapax(&["send", "stripe", "--body", "body.json"]).await;
        sent.assert_code(0);
        assert!(sent.stdout.contains(expected), "{sent:#?}");
    }
    sink.until_effects(1, std::time::Duration::from_secs(10)).await;
    assert_eq!(sink.received()[0].body[..], body[..]);
}

#[tokio::test]
async fn an_id_that_the_provider_would_not_send_is_refused_with_the_way_to_write_one() {
    let service = Setup::new()
        .source("lemonsqueezy", "lemonsqueezy", "")
        .start()
        .await;
    let refused = service.hapax(&["send", "lemonsqueezy", "--id", "evt_1"]).await;
    refused.assert_code(2);
    assert!(refused.stderr.contains("--id 42"), "{refused:#?}");
    for expected in ["accepted", "duplicate"] {
        let sent = service.hapax(&["send", "lemonsqueezy", "--id", "42"]).await;
        sent.assert_code(0);
        assert!(sent.stdout.contains(expected), "{sent:#?}");
    }
}
