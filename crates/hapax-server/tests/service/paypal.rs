//! PayPal, whose signature covers a checksum of the body: forged bodies are refused, on every replica and after a
//! restart, and PayPal itself is asked if so configured. PayPal is played by a real server on this machine.

use std::sync::Arc;

use bytes::Bytes;
use hapax_config::Config;
use hapax_server::{Server, Tuning};
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{OptionValue, Options, catalogue};
use http::{Response, StatusCode};
use http_body_util::Full;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::site::{SECRET, configuration, configuration_at, now};
use hapax_testkit::certificate::certificate_of;
use hapax_testkit::wire::post;
use hapax_testkit::{HttpResponse, Received, Sink};

const SOURCE: &str = "
[sources.paypal]
provider = \"paypal\"
options = { webhook_id = \"the-webhook\" }
";

const ASKING: &str = "
[sources.paypal]
provider = \"paypal\"
options = { webhook_id = \"the-webhook\", client_id = \"the-client\", client_secret = \"env:SECRET\", environment = \"sandbox\" }
";

const CERTIFICATE: &str = "/api.paypal.com/v1/notifications/certs/CERT-00000000-00000000-00000000";
const TOKEN: &str = "/api-m.sandbox.paypal.com/v1/oauth2/token";
const VERIFICATION: &str = "/api-m.sandbox.paypal.com/v1/notifications/verify-webhook-signature";

/// A PayPal server with its key.
struct Paypal {
    pair: SecretPair,
    calls: Sink,
    /// Its response when it is asked about a transmission.
    says: Arc<Mutex<(StatusCode, &'static str)>>,
}

impl Paypal {
    async fn start() -> Self {
        let pair = generate_secret(catalogue::get("paypal").unwrap(), &[7; 32]);
        let certificate = certificate_of("messageverificationcerts.paypal.com", &pair.verifying);
        let says = Arc::new(Mutex::new((StatusCode::OK, "SUCCESS")));
        let said = Arc::clone(&says);
        let calls = Sink::answering(move |seen| {
            let (status, answer) = match seen.path.as_str() {
                CERTIFICATE => (StatusCode::OK, certificate.clone()),
                TOKEN => (
                    StatusCode::OK,
                    json!({"access_token": "the-token", "expires_in": 32_400}).to_string(),
                ),
                VERIFICATION => {
                    let (status, word) = *said.lock();
                    (status, json!({ "verification_status": word }).to_string())
                }
                _ => (StatusCode::NOT_FOUND, String::new()),
            };
            let mut response = Response::new(Full::new(Bytes::from(answer)));
            *response.status_mut() = status;
            response
        })
        .await;
        Paypal { pair, calls, says }
    }

    async fn serve(&self, mut config: Config) -> Server {
        config.server.key_server = Some(format!("http://{}", self.calls.address).parse().unwrap());
        Server::start(config, Tuning::default()).await.unwrap()
    }

    /// Signed now, as the transmission with this name.
    fn sign(&self, transmission: &str, body: &[u8]) -> Delivery {
        let options: Options = [("webhook_id", OptionValue::Text("the-webhook".to_owned()))]
            .into_iter()
            .collect();
        let paypal = catalogue::get("paypal").unwrap();
        let signer = ProviderSigner::new(paypal, &self.pair.signing, &options).unwrap();
        signer.sign(Delivery {
            id: transmission.to_owned(),
            timestamp: now(),
            body: body.to_vec(),
            ..Delivery::default()
        })
    }

    fn says(&self, status: StatusCode, word: &'static str) {
        *self.says.lock() = (status, word);
    }

    /// The requests since the last call.
    fn asked(&mut self) -> Vec<Received> {
        self.calls.rest()
    }
}

async fn deliver(server: &Server, delivery: &Delivery) -> HttpResponse {
    post(
        server.ingest_address(),
        "/in/paypal",
        &delivery.headers,
        &delivery.body,
    )
    .await
}

fn event(id: &str, total: &str) -> Vec<u8> {
    let filler = "`".repeat(FREE_CHARACTERS);
    json!({"id": id, "event_type": "PAYMENT.SALE.COMPLETED", "resource": {"total": total}, "x": filler})
        .to_string()
        .into_bytes()
}

#[tokio::test]
async fn a_certificate_is_fetched_once_and_a_transmission_is_accepted_once() {
    let mut paypal = Paypal::start().await;
    let dir = tempfile::tempdir().unwrap();
    let server = paypal.serve(configuration(dir.path(), SOURCE)).await;
    let delivery = paypal.sign("1", &event("WH-1", "20.00"));
    for status in ["accepted", "duplicate"] {
        let reply = deliver(&server, &delivery).await;
        assert_eq!(reply.json()["status"], status, "{reply:?}");
        assert_eq!(reply.json()["event_id"], "WH-1");
    }
    let asked: Vec<String> = paypal.asked().into_iter().map(|seen| seen.path).collect();
    assert_eq!(asked, [CERTIFICATE]);
}

/// The forged body has the checksum of the genuine one, so its signature is valid.
#[tokio::test]
async fn another_body_under_a_signature_is_refused_also_after_a_restart() {
    let paypal = Paypal::start().await;
    let dir = tempfile::tempdir().unwrap();
    let server = paypal.serve(configuration(dir.path(), SOURCE)).await;
    let genuine = paypal.sign("1", &event("WH-1", "20.00"));
    let forged = Delivery {
        body: with_checksum_of(&genuine.body, event("WH-2", "99.00")),
        ..genuine.clone()
    };
    assert_eq!(deliver(&server, &genuine).await.json()["status"], "accepted");
    for _ in 0..2 {
        deliver(&server, &forged)
            .await
            .assert_problem(401, "transmission_reused");
    }
    server.stop().await;
    let server = paypal.serve(configuration(dir.path(), SOURCE)).await;
    deliver(&server, &forged)
        .await
        .assert_problem(401, "transmission_reused");
    assert_eq!(deliver(&server, &genuine).await.json()["status"], "duplicate");
    // PayPal sends the same event as another transmission, and then another event.
    let again = paypal.sign("2", &genuine.body);
    assert_eq!(deliver(&server, &again).await.json()["status"], "duplicate");
    let next = paypal.sign("3", &forged.body);
    assert_eq!(deliver(&server, &next).await.json()["status"], "accepted");
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_one_replica_accepted_is_the_only_one_for_another() {
    let paypal = Paypal::start().await;
    let postgres = hapax_test_postgres::Server::shared().unwrap();
    let database = postgres.database().await.unwrap();
    let one = paypal.serve(configuration_at(&database.url(), SOURCE)).await;
    let other = paypal.serve(configuration_at(&database.url(), SOURCE)).await;
    let genuine = paypal.sign("1", &event("WH-1", "20.00"));
    let forged = Delivery {
        body: with_checksum_of(&genuine.body, event("WH-2", "99.00")),
        ..genuine.clone()
    };
    assert_eq!(deliver(&one, &genuine).await.json()["status"], "accepted");
    deliver(&other, &forged)
        .await
        .assert_problem(401, "transmission_reused");
    assert_eq!(deliver(&other, &genuine).await.json()["status"], "duplicate");
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn paypal_is_asked_once_about_a_transmission_with_the_body_as_it_came() {
    let mut paypal = Paypal::start().await;
    let dir = tempfile::tempdir().unwrap();
    let server = paypal.serve(configuration(dir.path(), ASKING)).await;
    let body = b"{\"id\": \"WH-1\",  \"event_type\":\"X\", \"n\":1.50}";
    let delivery = paypal.sign("1", body);
    let address = server.ingest_address();
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let delivery = delivery.clone();
            tokio::spawn(async move { post(address, "/in/paypal", &delivery.headers, &delivery.body).await })
        })
        .collect();
    for task in tasks {
        let reply = task.await.unwrap();
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let asked = paypal.asked();
    let paths: Vec<&str> = asked.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(paths, [CERTIFICATE, TOKEN, VERIFICATION]);
    assert_eq!(asked[1].body, "grant_type=client_credentials");
    let basic = asked[1].headers["authorization"].to_str().unwrap();
    assert_eq!(
        basic,
        format!("Basic {}", base64(&format!("the-client:{SECRET}")))
    );
    assert_eq!(asked[2].headers["authorization"], "Bearer the-token");
    let text = std::str::from_utf8(&asked[2].body).unwrap();
    assert!(text.contains(std::str::from_utf8(body).unwrap()), "{text}");
    let question: Value = serde_json::from_str(text).unwrap();
    assert_eq!(question["webhook_id"], "the-webhook");
    assert_eq!(question["transmission_id"], "transmission-of-1");
    assert_eq!(question["auth_algo"], "SHA256withRSA");
}

#[tokio::test]
async fn what_paypal_disowns_is_refused_and_what_it_cannot_say_now_is_503() {
    let mut paypal = Paypal::start().await;
    let dir = tempfile::tempdir().unwrap();
    let server = paypal.serve(configuration(dir.path(), ASKING)).await;
    paypal.says(StatusCode::OK, "FAILURE");
    let foreign = paypal.sign("1", &event("WH-1", "20.00"));
    for _ in 0..2 {
        deliver(&server, &foreign)
            .await
            .assert_problem(401, "signature_invalid");
    }
    let delivery = paypal.sign("2", &event("WH-2", "20.00"));
    for status in [StatusCode::BAD_GATEWAY, StatusCode::UNAUTHORIZED] {
        paypal.says(status, "SUCCESS");
        deliver(&server, &delivery)
            .await
            .assert_problem(503, "key_unavailable");
    }
    paypal.asked();
    paypal.says(StatusCode::OK, "SUCCESS");
    assert_eq!(deliver(&server, &delivery).await.json()["status"], "accepted");
    assert_eq!(deliver(&server, &delivery).await.json()["status"], "duplicate");
    // Only the token that was not accepted was requested again.
    let asked: Vec<String> = paypal.asked().into_iter().map(|seen| seen.path).collect();
    assert_eq!(asked, [TOKEN, VERIFICATION]);
    // PayPal is not asked about an invalid signature.
    let mut wrong = paypal.sign("3", &event("WH-3", "20.00"));
    wrong.body.push(b' ');
    deliver(&server, &wrong)
        .await
        .assert_problem(401, "signature_invalid");
    assert!(paypal.asked().is_empty());
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// Free characters at the end of a body: four bits of each can change without leaving the letters.
const FREE_CHARACTERS: usize = 16;

/// The body with other letters in its filler, so that it has the checksum of another body. A checksum is linear: each
/// bit of the filler changes it in a fixed way, and the bits to flip are the solution of a system of linear equations.
fn with_checksum_of(other: &[u8], mut body: Vec<u8>) -> Vec<u8> {
    let filler = body.len() - 2 - FREE_CHARACTERS;
    let start = crc32(&body);
    let flip = |body: &mut Vec<u8>, bits: u64| {
        for bit in (0..64).filter(|bit| bits >> bit & 1 == 1) {
            body[filler + bit / 4] ^= 1 << (bit % 4);
        }
    };
    let mut basis: Vec<(u32, u64)> = Vec::new();
    let reduce = |basis: &[(u32, u64)], mut change: u32, mut bits: u64| {
        for (known, known_bits) in basis {
            if change ^ known < change {
                (change, bits) = (change ^ known, bits ^ known_bits);
            }
        }
        (change, bits)
    };
    for bit in 0..64 {
        let mut flipped = body.clone();
        flip(&mut flipped, 1 << bit);
        let (change, bits) = reduce(&basis, crc32(&flipped) ^ start, 1 << bit);
        if change != 0 {
            basis.push((change, bits));
            basis.sort_by(|one, other| other.cmp(one));
        }
    }
    let (left, bits) = reduce(&basis, start ^ crc32(other), 0);
    assert_eq!(left, 0);
    flip(&mut body, bits);
    assert_eq!(crc32(&body), crc32(other));
    body
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}
