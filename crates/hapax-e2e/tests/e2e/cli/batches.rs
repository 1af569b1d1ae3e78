//! Events of batches, sent again: by `hapax events export`, by `hapax send` and by `hapax twice`, for every provider
//! whose requests carry several events.

use std::time::Duration;

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::identity::ValuePath;
use hapax_verify::sign::{self, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{Field, Split, sample};
use serde_json::Value;
use tokio::process::Command;

use hapax_testkit::{Delivery, Service, Setup, eventually, now};

const LIMIT: Duration = Duration::from_secs(20);
const STATE_KEY: &str = "0123456789abcdef0123456789abcdef";

fn providers() -> impl Iterator<Item = &'static Provider> {
    catalogue::all()
        .iter()
        .filter(|provider| provider.identity.split.is_some())
}

fn secrets(provider: &Provider) -> SecretPair {
    generate_secret(provider, &[0x5a; 32])
}

/// A source for each of them. The public URL is the real one, for providers that sign it.
async fn service() -> Service {
    let setup = Setup::new();
    let public_url = format!("public_url = \"http://{}\"", setup.listen);
    let setup = setup.server(&public_url).encrypted(&[STATE_KEY]);
    let with_source = |setup: Setup, provider: &Provider| {
        let (name, secret) = (&provider.name, secrets(provider).verifying);
        setup.table(&format!(
            "[sources.{name}]\nprovider = \"{name}\"\nsecrets = ['{secret}']\n"
        ))
    };
    providers().fold(setup, with_source).start().await
}

/// A request with two events; with one if events are in nested arrays.
fn request(provider: &Provider, service: &Service) -> Delivery {
    let first = sample::of_provider(provider, "1000000000000001");
    let (mut headers, mut body) = (first.headers, first.body);
    if let Some(Split::Array { at, content_type, .. }) = &provider.identity.split {
        if let Some(content_type) = content_type {
            headers = vec![("content-type".to_owned(), content_type.clone())];
        }
        let second = sample::of_provider(provider, "1000000000000002").body;
        let [one, two] = [&body, &second].map(|body| {
            let body: Value = serde_json::from_slice(body).unwrap();
            let item = body.pointer(&format!("{at}/0")).unwrap_or(&body);
            item.to_string()
        });
        let alone = sample::alone(provider, &headers, one.as_bytes()).into_owned();
        let alone = String::from_utf8(alone).unwrap();
        body = alone.replace(&one, &format!("{one}, {two}")).into_bytes();
    }
    let root = format!("http://{}", service.address());
    let sender = ProviderSigner::new(provider, &secrets(provider).signing, &provider.sample_options());
    let signed = sender.unwrap().sign(sign::Delivery {
        timestamp: now(),
        url: format!("{root}/in/{}", provider.name),
        headers,
        body,
        ..sign::Delivery::default()
    });
    Delivery {
        event_id: String::new(),
        path: signed.url.strip_prefix(&root).unwrap().to_owned(),
        headers: signed
            .headers
            .into_iter()
            .map(|(name, value)| (name, value.into_bytes()))
            .collect(),
        body: signed.body.into(),
    }
}

async fn events(service: &Service, provider: &Provider) -> Vec<Value> {
    let listed = service
        .hapax(&["events", "list", "--source", &provider.name, "--json"])
        .await;
    listed.json()["events"].as_array().unwrap().clone()
}

/// Whether the id belongs to the event: Pusher's is a hash of the request that it arrived in.
fn is_known_by_itself(provider: &Provider) -> bool {
    let rule = &provider.identity.event_id;
    let mut places = rule.fields().flat_map(Field::paths);
    !rule.is_none() && !places.any(|place| *place == ValuePath::RequestSha256)
}

/// How many events a provider's request carries here.
fn count(provider: &Provider) -> usize {
    match provider.identity.split {
        Some(Split::Array { .. }) => 2,
        Some(Split::Nested(_)) | None => 1,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_event_of_a_batch_sent_again_is_a_duplicate_for_every_provider() {
    let service = service().await;
    for provider in providers() {
        let name = provider.name.as_str();
        let delivery = request(provider, &service);
        for _ in 0..2 {
            let answer = service.deliver(&delivery).await;
            assert!(answer.is_durable(), "{name}: {} {}", answer.status, answer.text());
        }
        let stored = events(&service, provider).await;
        assert_eq!(stored.len(), count(provider), "{name}: {stored:?}");
        let id = stored[0]["id"].as_str().unwrap();
        let by_curl = by_curl(&service, provider, id).await;
        let by_send = by_send(&service, provider, id).await;
        let after = events(&service, provider).await.len();
        if !is_known_by_itself(provider) {
            // Sent again, it is another event, and it is genuine.
            assert!(after > stored.len(), "{name}");
            continue;
        }
        assert_eq!(after, stored.len(), "{name}");
        let what = format!("the duplicates of {name} are counted");
        let shown = eventually(&what, LIMIT, async || {
            let event = service.api(&format!("events/{id}")).await;
            let copies = event["duplicates"]["count"].as_u64()?;
            (copies == 1 + by_curl + by_send).then_some(event)
        })
        .await;
        assert_eq!(
            shown["conflicts"].as_array().map(Vec::len),
            Some(0),
            "{name}: {shown}"
        );
    }
}

/// Runs the script twice, and returns how many requests that made.
async fn by_curl(service: &Service, provider: &Provider, id: &str) -> u64 {
    let script = service.hapax(&["events", "export", id, "--as", "curl"]).await;
    if secrets(provider).signing != secrets(provider).verifying {
        // A source of this provider has a public key, which cannot sign.
        script.assert_code(1);
        return 0;
    }
    script.assert_code(0);
    for _ in 0..2 {
        let ran = Command::new("sh")
            .args(["-c", &script.stdout])
            .env("TOKEN", secrets(provider).signing)
            .output()
            .await
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.starts_with("HTTP/1.1 200"), "{}: {said}", provider.name);
    }
    2
}

/// Sends its payload twice, and returns how many requests that made.
async fn by_send(service: &Service, provider: &Provider, id: &str) -> u64 {
    let payload = service.hapax(&["events", "payload", id]).await;
    payload.assert_code(0);
    std::fs::write(service.setup.path().join("event.json"), &payload.stdout).unwrap();
    let secret = secrets(provider).signing;
    let name = provider.name.as_str();
    let send = [
        "send",
        name,
        "--secret",
        &secret,
        "--body",
        "event.json",
        "--times",
        "2",
    ];
    service.hapax(&send).await.assert_code(0);
    2
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twice_takes_the_payload_of_an_event_of_a_batch() {
    let service = service().await;
    let folder = service.setup.path().join("events");
    std::fs::create_dir(&folder).unwrap();
    for name in ["asana", "line"] {
        let provider = catalogue::get(name).unwrap();
        let delivery = request(provider, &service);
        for _ in 0..2 {
            assert!(service.deliver(&delivery).await.is_durable());
        }
        let id = events(&service, provider).await[0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let payload = service.hapax(&["events", "payload", &id]).await;
        std::fs::write(folder.join("exported.json"), &payload.stdout).unwrap();
        let snapshot = format!(
            "{} events list --source {name} --limit 1000 --json | grep -o '\"event_id\"' | wc -l",
            hapax_testkit::binary().display()
        );
        let to = format!("http://{}/in/{name}", service.address());
        let secret = secrets(provider).signing;
        let run = [
            "twice",
            "run",
            "--provider",
            name,
            "--to",
            &to,
            "--secret",
            &secret,
        ];
        let how = ["--events", "events", "--snapshot", &snapshot, "--settle", "10ms"];
        let plans = ["--plan", "again", "--plan", "concurrent:4", "--plan", "tampered"];
        let ran = service.hapax(&[&run[..], &how, &plans].concat()).await;
        ran.assert_code(0);
        assert!(ran.stdout.contains("No fault found in 3 tries."), "{ran:#?}");
    }
}
