//! Multipart forms: inbound mail with attachments, signed as Mailgun and SendGrid do.

use std::time::Duration;

use bytes::Bytes;
use hapax_verify::vectors::File;

use hapax_testkit::{Delivery, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(20);
const BOUNDARY: &str = "0ea1c2f0d3b54a6c9d9ef1a5b7c3d2e4";

fn part(head: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n");
    [head.as_bytes(), content, b"\r\n"].concat()
}

/// An inbound message from Mailgun, signed now.
fn message(token: &str) -> Delivery {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, b"mg-key");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let timestamp = now.as_secs().to_string();
    let signature = hex::encode(aws_lc_rs::hmac::sign(
        &key,
        format!("{timestamp}{token}").as_bytes(),
    ));
    let attachment: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
    let body = [
        part("name=\"recipient\"", b"support@mg.example.com"),
        part("name=\"subject\"", b"Invoice"),
        part("name=\"attachment-1\"; filename=\"invoice.pdf\"", &attachment),
        part("name=\"timestamp\"", timestamp.as_bytes()),
        part("name=\"token\"", token.as_bytes()),
        part("name=\"signature\"", signature.as_bytes()),
        format!("--{BOUNDARY}--\r\n").into_bytes(),
    ];
    Delivery {
        event_id: token.to_owned(),
        path: "/in/mailgun".to_owned(),
        headers: vec![(
            "content-type".to_owned(),
            format!("multipart/form-data; boundary={BOUNDARY}").into_bytes(),
        )],
        body: Bytes::from(body.concat()),
    }
}

#[tokio::test]
async fn inbound_mail_of_mailgun_with_attachments_takes_effect_once() {
    let sink = Sink::start().await;
    let service = Setup::new()
        .table("[sources.mailgun]\nprovider = \"mailgun\"\nsecrets = [\"mg-key\"]\ndeliver_to = [\"app\"]")
        .http("app", &sink.url(), "")
        .start()
        .await;
    let token = "5f2d3c1b0a998877665544332211ffeeddccbbaa0123456789";
    let delivery = message(token);
    service.deliver_twice(&delivery).await;
    sink.until_effects(1, LIMIT).await;
    assert_eq!(sink.applications(), 1);
    assert!(
        sink.received_for(token)[0].body == delivery.body,
        "every byte is delivered"
    );

    let forged = Delivery {
        body: Bytes::from(
            String::from_utf8_lossy(&delivery.body)
                .replace(token, "another")
                .into_bytes(),
        ),
        ..delivery
    };
    for _ in 0..2 {
        service
            .deliver(&forged)
            .await
            .assert_problem(401, "signature_invalid");
    }
}

/// The signed time of a vector is long past, so the command verifies it as of that time.
#[tokio::test]
async fn signed_inbound_mail_of_sendgrid_is_judged_as_its_vectors_say() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../hapax-verify/tests/vectors/sendgrid-inbound-parse.json"
    );
    let file: File = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for vector in file.vectors.iter().take(5) {
        std::fs::write(folder.path().join("body"), vector.body()).unwrap();
        let now = vector.now.to_string();
        let mut arguments = vec!["verify", "sendgrid-inbound-parse", "body", "--now", &now];
        let headers: Vec<String> = vector
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        for header in &headers {
            arguments.extend(["--header", header]);
        }
        for key in vector.public_keys.iter().flatten() {
            arguments.extend(["--secret", key]);
        }
        for _ in 0..2 {
            let judged = hapax_testkit::run(folder.path(), &arguments).await;
            judged.assert_code(if vector.valid { 0 } else { 5 });
        }
    }
}
