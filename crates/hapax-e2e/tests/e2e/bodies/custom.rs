//! Providers without a preset: every scheme of `verify`, from the first delivery to its duplicate, with the commands
//! that sign.

use std::time::Duration;

use hapax_verify::sign::{self, ProviderSigner};
use hapax_verify::{CustomScheme, Options, Proof, catalogue};

use hapax_testkit::{Delivery, Service, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(20);

/// A source's `verify` table, its `secrets`, and the key that its provider signs with.
struct Case {
    name: &'static str,
    verify: &'static str,
    secret: String,
    signing: String,
}

fn cases() -> Vec<Case> {
    let shared = |name, verify, secret: &str| Case {
        name,
        verify,
        secret: secret.to_owned(),
        signing: secret.to_owned(),
    };
    // Any preset with a P-256 key makes a pair.
    let pair = sign::generate_secret(catalogue::get("sendgrid").unwrap(), &[3; 32]);
    let pem =
        |label: &str, base64: &str| format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n");
    let by_key = |name, verify| Case {
        name,
        verify,
        secret: pem("PUBLIC KEY", &pair.verifying),
        signing: pem("PRIVATE KEY", &pair.signing),
    };
    vec![
        shared(
            "token",
            "scheme = \"token\"\nheader = \"x-token\"",
            "a long token",
        ),
        shared(
            "query",
            "scheme = \"token\"\nquery = \"key\"",
            "a long token & more",
        ),
        shared("basic", "scheme = \"basic\"", "ada:a password"),
        shared(
            "jwt",
            "scheme = \"jwt\"\nalgorithm = \"HS256\"\nissuer = \"inhouse\"\naudience = \"hapax\"",
            "a long shared key",
        ),
        by_key(
            "jwt-es256",
            "scheme = \"jwt\"\nalgorithm = \"ES256\"\nheader = \"x-jwt\"\nbody_hash_claim = \"body_sha256\"",
        ),
        by_key(
            "ecdsa",
            "scheme = \"ecdsa-p256\"\nheader = \"x-signature\"\nencoding = \"base64\"\nsigned = \"{timestamp}.{body}\"\n\
             timestamp_header = \"x-timestamp\"",
        ),
    ]
}

impl Case {
    fn table(&self) -> String {
        let (name, verify) = (self.name, self.verify);
        format!(
            "[sources.{name}]\nsecrets = [\"file:{name}.secret\"]\nevent_id = \"body:/id\"\nevent_type = \"body:/type\"\n\
             deliver_to = [\"app\"]\n[sources.{name}.verify]\n{verify}\n"
        )
    }

    fn has_key_pair(&self) -> bool {
        self.secret != self.signing
    }

    /// The provider's request.
    fn delivery(&self, id: &str) -> Delivery {
        let custom: CustomScheme = toml::from_str(self.verify).unwrap();
        let proof = Proof::try_from(custom).unwrap();
        let signer = ProviderSigner::of_proof(&proof, &self.signing, &Options::default()).unwrap();
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        let sent = signer.sign(sign::Delivery {
            id: id.to_owned(),
            timestamp: now.as_secs() as i64,
            url: format!("/in/{}", self.name),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: format!("{{\"id\":\"{id}\",\"type\":\"order.paid\"}}").into_bytes(),
            ..sign::Delivery::default()
        });
        Delivery {
            event_id: id.to_owned(),
            path: sent.url,
            headers: sent
                .headers
                .into_iter()
                .map(|(name, value)| (name, value.into_bytes()))
                .collect(),
            body: sent.body.into(),
        }
    }
}

async fn service(sink: &Sink) -> Service {
    let setup = cases()
        .iter()
        .fold(Setup::new(), |setup, case| setup.table(&case.table()))
        .http("app", &sink.url(), "");
    for case in &cases() {
        std::fs::write(setup.path().join(format!("{}.secret", case.name)), &case.secret).unwrap();
        std::fs::write(setup.path().join(format!("{}.signing", case.name)), &case.signing).unwrap();
    }
    setup.start().await
}

#[tokio::test]
async fn every_scheme_takes_what_its_sender_sends_once_and_nothing_else() {
    let sink = Sink::start().await;
    let service = service(&sink).await;
    for case in &cases() {
        let good = case.delivery(&format!("{}-1", case.name));
        let id = service.deliver_twice(&good).await;
        let shown = service.admin(&format!("/api/v1/events/{id}")).await.text();
        assert!(shown.contains(&good.event_id), "{shown}");
        let test = service.hapax(&["events", "export", &id, "--as", "python"]).await;
        for text in [shown, test.assert_code(0).stdout.clone()] {
            // A token that contains the body's hash is a signature of that body, which an admin may see.
            let is_signature = case.verify.contains("body_hash_claim");
            assert!(
                !text.contains("a long token") && (is_signature || !text.contains("eyJ")),
                "{}: {text}",
                case.name
            );
        }
        // Without its signature.
        let bare = Delivery {
            path: format!("/in/{}", case.name),
            headers: good.headers.iter().take(1).cloned().collect(),
            ..good.clone()
        };
        // With one letter of the signature changed.
        let mut forged = good.clone();
        match forged
            .headers
            .last_mut()
            .filter(|(name, _)| name != "content-type")
        {
            Some((_, value)) => {
                let place = value.len() / 2;
                value[place] = if value[place] == b'A' { b'B' } else { b'A' };
            }
            None => forged.path = forged.path.replace("long", "short"),
        }
        for _ in 0..2 {
            service
                .deliver(&bare)
                .await
                .assert_problem(401, "signature_missing");
            let refused = service.deliver(&forged).await;
            assert_eq!(refused.status, 401, "{}: {}", case.name, refused.text());
        }
    }
    let count = cases().len();
    sink.until_effects(count, LIMIT).await;
    assert_eq!(sink.applications(), count, "each took effect once");
}

#[tokio::test]
async fn a_body_that_is_covered_cannot_be_changed() {
    let sink = Sink::start().await;
    let service = service(&sink).await;
    for case in cases().iter().filter(|case| case.has_key_pair()) {
        let good = case.delivery("evt_1");
        let tampered = Delivery {
            body: String::from_utf8_lossy(&good.body)
                .replace("evt_1", "evt_2")
                .into_bytes()
                .into(),
            ..good.clone()
        };
        for _ in 0..2 {
            service
                .deliver(&tampered)
                .await
                .assert_problem(401, "signature_invalid");
        }
        service.deliver_twice(&good).await;
    }
}

#[tokio::test]
async fn the_verbs_sign_for_every_scheme_or_say_what_they_need() {
    let sink = Sink::start().await;
    let service = service(&sink).await;
    for case in &cases() {
        let id = format!("{}-sent", case.name);
        let secret = format!("file:{}.signing", case.name);
        for expected in ["accepted", "duplicate"] {
            let sent = service
                .hapax(&["send", case.name, "--id", &id, "--secret", &secret])
                .await;
            sent.assert_code(0);
            assert!(sent.stdout.contains(expected), "{}: {sent:#?}", case.name);
        }
        if case.has_key_pair() {
            let refused = service.hapax(&["send", case.name]).await;
            refused.assert_code(2);
            assert!(
                refused.stderr.contains("signing takes the private half")
                    && refused.stderr.contains("--secret file:private.pem"),
                "{refused:#?}"
            );
        } else {
            service.hapax(&["send", case.name]).await.assert_code(0);
        }
    }
    let checked = service.hapax(&["doctor"]).await;
    checked.assert_code(0);
    assert!(
        checked.stdout.contains("1 well-formed public key"),
        "{checked:#?}"
    );
    service.hapax(&["config", "check"]).await.assert_code(0);
    let shown = service.api("sources").await.to_string();
    for summary in [
        "a shared token in x-token",
        "a shared token in authorization (Basic)",
        "signed with HS256, that does not cover the body",
        "ecdsa-p256 in base64 over `{timestamp}.{body}`",
    ] {
        assert!(shown.contains(summary), "{summary}: {shown}");
    }
}
