//! Bytes from strangers and providers must not forge a line of the log, nor colour a terminal.

use std::time::Duration;

use serde_json::{Value, json};

use hapax_testkit::{Sender, Setup, Sink, Wire};

const LIMIT: Duration = Duration::from_secs(20);
/// A separate line, an escape sequence, and the characters that some viewers treat as the end of a line.
const EVIL: &str = "x\n{\"level\":\"ERROR\",\"message\":\"forged\"}\r\nforged \u{1b}[31m\u{7}\u{85}\u{2028}y";

#[tokio::test]
async fn nobody_writes_lines_into_the_log() {
    for format in ["json", "text"] {
        let sink = Sink::start().await;
        let service = Setup::stripe_to(&sink)
            .before(&format!(
                "export HAPAX_LOG=debug,hyper=trace HAPAX_LOG_FORMAT={format}"
            ))
            .start()
            .await;
        let sender = Sender::of("stripe");
        service
            .deliver_twice(&sender.stripe_event(EVIL, EVIL, &json!({})))
            .await;
        sink.until_effects(1, LIMIT).await;
        // A conflict is logged as a warning; a wrong signature and an unknown source are refused.
        service.deliver(&sender.with_body(EVIL, body_of(EVIL))).await;
        service
            .deliver(
                &sender
                    .event(EVIL)
                    .with_other_header("stripe-signature", "\u{9b}31m forged"),
            )
            .await;
        for path in ["/in/%0aforged%1b[31m", "/in/stripe?a=%0d%0aforged", "/%0Aforged"] {
            service.deliver(&sender.event("evt_1").at_path(path)).await;
        }
        let mut raw = Wire::open(service.address()).await;
        raw.say(b"POST /in/stripe\x1b[31m HTTP/1.1\r\nx-a: \x1b[31mforged\r\n\r\n")
            .await;
        raw.hear_out().await;
        assert_clean(format, &service.log());
    }
}

#[tokio::test]
async fn lines_about_what_operators_do_name_the_event_as_all_others_do() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    let id = service.deliver_twice(&sender.event("evt_1")).await;
    sink.until_effects(1, LIMIT).await;
    service.until_event_is(&id, "completed", LIMIT).await;
    let replayed = service.hapax(&["replay", &id, "--mode", "all"]).await;
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    assert_names("event replayed", &service.log(), &id, "evt_1");
    service
        .deliver(&sender.with_body("evt_1", body_of("evt_1")))
        .await;
    let event = service.api(&format!("events/{id}")).await;
    let hash = event["conflicts"][0]["body_sha256"].as_str().unwrap().to_owned();
    let released = service
        .hapax(&["conflicts", "release", &id, &hash, "--json"])
        .await;
    let released: Value = serde_json::from_str(&released.stdout).unwrap();
    let (released, sender_id) = (released["id"].as_str().unwrap(), format!("evt_1%conflict:{hash}"));
    assert_names("conflicting body released", &service.log(), released, &sender_id);
}

#[track_caller]
fn assert_names(words: &str, log: &str, id: &str, sender_id: &str) {
    let line = log.lines().find(|line| line.contains(words)).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    let named =
        ["event.id", "event.sender_id", "source", "trace_id"].map(|name| line[name].as_str().unwrap());
    assert_eq!(named, [id, sender_id, "stripe", &id.replace('-', "")], "{line}");
}

fn body_of(id: &str) -> Vec<u8> {
    json!({"id": id, "type": "another", "object": "event"})
        .to_string()
        .into_bytes()
}

fn assert_clean(format: &str, log: &str) {
    assert!(
        log.contains("forged"),
        "what was sent is in the log, made harmless: {log}"
    );
    for line in log.lines() {
        let controls = |c: &char| c.is_control() && *c != '\t';
        assert_eq!(
            line.chars().find(controls),
            None,
            "a control character in {line:?}"
        );
        assert!(
            !line.starts_with("forged") && !line.starts_with("{\"level\":\"ERROR\""),
            "{line}"
        );
        if format == "json" {
            let record: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line:?}"));
            assert_ne!(record["message"], "forged");
        }
    }
}
