//! Read access to the store, the API or a destination's requests must not be enough to send in a provider's name:
//! neither with a token that is sent along, nor with a signature under an id other than the one it came with.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hapax_verify::sign::ProviderSigner;
use hapax_verify::{Options, catalogue, sample};
use http::Request;
use http_body_util::Full;
use serde_json::Value;

use super::report;
use hapax_testkit::{Connection, Delivery, HttpResponse, Sender, Service, Setup, Sink, eventually, now};

const ADMIN: &str = "the-admin-token-of-this-test";
const READER: &str = "the-token-of-a-mere-reader";
const PATIENCE: Duration = Duration::from_secs(20);

/// Presets that authenticate with a shared token, each with a token that occurs nowhere else.
const PRESETS: [(&str, &str); 4] = [
    ("gitlab", "glsecret-4f1d0c7a93be"),
    ("telegram", "tgsecret-91c7ab20e6d4"),
    ("postmark", "pmuser:pmsecret-58e2d1f0b7"),
    ("cloudevents", "cesecret-a07715cd42f9"),
];
const CUSTOM: &str = "cusecret-c3d9017be58a";

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_token_is_stored_shown_logged_and_forwarded_nowhere() {
    let sink = Sink::start().await;
    let service = setup(&sink).start().await;
    let mut sent = 0;
    for (provider, token) in PRESETS {
        let delivery = preset(provider, token, "4711");
        // Some ids are derived from the body: their events have no conflicts.
        let other = preset_with(
            provider,
            token,
            "4711",
            b"{\"id\":\"4711\",\"update_id\":4711,\"other\":true}",
        );
        for delivery in [&delivery, &delivery, &other] {
            sent += usize::from(service.deliver(delivery).await.is_durable());
        }
    }
    for body in [
        "{\"id\":\"one\"}",
        "{\"id\":\"one\"}",
        "{\"id\":\"one\",\"other\":1}",
    ] {
        sent += usize::from(service.deliver(&custom(body)).await.is_durable());
    }
    assert!(sent >= 3 * PRESETS.len(), "only {sent} deliveries were taken");
    let events = eventually("everything is delivered", PATIENCE, async || {
        let ids = ids(&as_(&service, READER, "/api/v1/events?limit=200").await.json());
        let pending = as_(&service, READER, "/api/v1/events?status=pending")
            .await
            .json();
        (ids.len() > PRESETS.len() && ids_of(&pending) == 0).then_some(ids)
    })
    .await;

    let mut places = vec![("log", service.log().into_bytes())];
    places.push(("API and dashboard", readable(&service, READER, &events).await));
    places.push(("exports of an admin", exports(&service, &events).await));
    places.push(("files", files(service.setup.path())));
    let headers = sink.received().iter().fold(Vec::new(), |mut all, request| {
        all.extend_from_slice(format!("{:?}{:?}", request.path, request.headers).as_bytes());
        all
    });
    places.push(("destination", headers));
    let tokens = PRESETS.iter().map(|(_, token)| *token).chain([CUSTOM]);
    let found: Vec<String> = tokens
        .flat_map(|token| [token.to_owned(), STANDARD.encode(token)])
        .flat_map(|token| {
            let holds = |(place, bytes): &(&str, Vec<u8>)| {
                contains(bytes, token.as_bytes()).then(|| format!("{token} in {place}"))
            };
            places.iter().filter_map(holds).collect::<Vec<_>>()
        })
        .collect();
    let looked: usize = places.iter().map(|(_, bytes)| bytes.len()).sum();
    report::write(
        "stored_secrets",
        &format!(
            "{sent} deliveries with 5 shared tokens; {looked} bytes of store, API, log and destination read"
        ),
        &format!("tokens found {} times", found.len()),
    );
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_cannot_send_a_signed_body_again_under_another_id() {
    let sink = Sink::start().await;
    let service = Setup::new()
        .server(&tokens())
        .source("github", "github", "deliver_to = [\"app\"]")
        .http("app", &sink.url(), "")
        .start()
        .await;
    let delivery = Sender::of("github").event("72d3162e-cc78-11e3-81ab-4c9367dc0958");
    let id = service.deliver_twice(&delivery).await;

    let collected = readable(&service, READER, std::slice::from_ref(&id)).await;
    let collected = String::from_utf8_lossy(&collected).into_owned();
    let body = as_(&service, READER, &format!("/api/v1/events/{id}/payload"))
        .await
        .body;
    assert_eq!(body, delivery.body, "a reader has the body");
    // Everything in it that could be a signature.
    let mut guesses: BTreeSet<&str> = collected
        .split(|letter: char| !letter.is_ascii_hexdigit())
        .filter(|word| matches!(word.len(), 40 | 64))
        .collect();
    guesses.insert("***");
    let mut taken = 0;
    for guess in &guesses {
        for (name, value) in [
            ("x-hub-signature-256", format!("sha256={guess}")),
            ("x-hub-signature", format!("sha1={guess}")),
        ] {
            let forged = Delivery {
                headers: delivery.headers.clone(),
                body: body.clone(),
                ..delivery.clone()
            }
            .without_header("x-hub-signature-256")
            .with_header(name, value)
            .with_other_header("x-github-delivery", "00000000-0000-0000-0000-000000000001");
            taken += usize::from(service.deliver(&forged).await.is_durable());
        }
    }
    report::write(
        "replayed_signature",
        &format!(
            "GitHub's body under another id, with {} values that a reader sees",
            guesses.len()
        ),
        &format!("{taken} accepted"),
    );
    assert_eq!(taken, 0);
    assert_eq!(
        as_(&service, READER, &format!("/api/v1/events/{id}/export?as=curl"))
            .await
            .status,
        403
    );
    let signature = delivery
        .headers
        .iter()
        .find(|(name, _)| name == "x-hub-signature-256");
    let signature = String::from_utf8(signature.unwrap().1.clone()).unwrap();
    assert!(!collected.contains(signature.trim_start_matches("sha256=")));
    // An operator of the service sees the original.
    let whole = as_(&service, ADMIN, &format!("/api/v1/events/{id}")).await.text();
    assert!(whole.contains(&signature), "{whole}");
}

fn tokens() -> String {
    format!(
        "admin_token = \"{ADMIN}\"\ntokens = [{{ name = \"reader\", token = \"{READER}\", role = \"read\" }}]"
    )
}

fn setup(sink: &Sink) -> Setup {
    let mut setup = Setup::new().server(&tokens()).http("app", &sink.url(), "");
    for (provider, token) in PRESETS {
        setup = setup.table(&format!(
            "[sources.{provider}]\nprovider = \"{provider}\"\nsecrets = [\"{token}\"]\ndeliver_to = [\"app\"]\n"
        ));
    }
    setup.table(&format!(
        "[sources.own]\nsecrets = [\"{CUSTOM}\"]\ndeliver_to = [\"app\"]\nevent_id = \"body:/id\"\n\
         verify = {{ scheme = \"token\", header = \"x-own-key\" }}\n"
    ))
}

fn preset(provider: &str, token: &str, id: &str) -> Delivery {
    let body = sample::of_provider(catalogue::get(provider).unwrap(), id).body;
    preset_with(provider, token, id, &body)
}

fn preset_with(provider: &str, token: &str, id: &str, body: &[u8]) -> Delivery {
    let preset = catalogue::get(provider).unwrap();
    let signer = ProviderSigner::new(preset, token, &Options::default()).unwrap();
    let mut delivery = sample::of_provider(preset, id).delivery(now());
    delivery.body = body.to_vec();
    delivery.url = format!("http://e2e/in/{provider}");
    let delivery = signer.sign(delivery);
    let headers = delivery.headers.into_iter();
    Delivery {
        event_id: id.to_owned(),
        path: delivery.url.trim_start_matches("http://e2e").to_owned(),
        headers: headers.map(|(name, value)| (name, value.into_bytes())).collect(),
        body: Bytes::from(delivery.body),
    }
}

fn custom(body: &str) -> Delivery {
    Delivery {
        event_id: String::new(),
        path: "/in/own".to_owned(),
        headers: vec![("x-own-key".to_owned(), CUSTOM.as_bytes().to_vec())],
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

/// Everything that the holder of this token can read.
async fn readable(service: &Service, token: &str, events: &[String]) -> Vec<u8> {
    let mut paths: Vec<String> = [
        "events",
        "audit",
        "sources",
        "destinations",
        "stats",
        "overview",
        "replays",
        "searches",
        "alerts",
        "stats/duplicates",
        "deliveries",
        "deliveries?status=dead",
    ]
    .map(|path| format!("/api/v1/{path}"))
    .to_vec();
    for id in events {
        let event = format!("/api/v1/events/{id}");
        let shown = as_(service, token, &event).await.json();
        for conflict in shown["conflicts"].as_array().into_iter().flatten() {
            let hash = conflict["body_sha256"].as_str().unwrap();
            paths.push(format!("{event}/conflicts/{hash}/payload"));
            paths.push(format!("{event}/conflicts/{hash}/diff"));
        }
        paths.push(format!("{event}/payload"));
        let tests = ["rust", "python", "typescript", "pytest", "vitest"];
        paths.extend(tests.map(|kind| format!("{event}/export?as={kind}")));
        paths.push(event);
    }
    let mut all = Vec::new();
    for path in paths {
        all.extend_from_slice(&as_(service, token, &path).await.body);
    }
    let cookie = signed_in(service, token).await;
    for id in events {
        for page in ["", "/payload?as=headers", "/payload?as=raw", "/export?as=python"] {
            let request = Request::get(format!("/events/{id}{page}")).header("cookie", &cookie);
            all.extend_from_slice(&send(service, request).await.body);
        }
    }
    all
}

/// The session cookie of a login.
async fn signed_in(service: &Service, token: &str) -> String {
    let form = format!("token={token}");
    let request = Request::post("/login")
        .header("host", service.setup.admin.to_string())
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Full::new(Bytes::from(form)))
        .unwrap();
    let answer = Connection::to(service.setup.admin).send(request).await.unwrap();
    let cookie = answer.header("set-cookie").expect("a session");
    cookie.split(';').next().unwrap().to_owned()
}

async fn exports(service: &Service, events: &[String]) -> Vec<u8> {
    let mut all = Vec::new();
    for id in events {
        let export = as_(service, ADMIN, &format!("/api/v1/events/{id}/export?as=curl")).await;
        all.extend_from_slice(&export.body);
    }
    all
}

/// The store as it lies on the disk, including its log and all other files except the configuration.
fn files(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.file_name().is_some_and(|name| name != "hapax.toml") {
            all.extend(std::fs::read(path).unwrap());
        }
    }
    all
}

async fn as_(service: &Service, token: &str, path: &str) -> HttpResponse {
    send(
        service,
        Request::get(path).header("authorization", format!("Bearer {token}")),
    )
    .await
}

async fn send(service: &Service, request: http::request::Builder) -> HttpResponse {
    let request = request
        .header("host", service.setup.admin.to_string())
        .body(Full::new(Bytes::new()))
        .unwrap();
    Connection::to(service.setup.admin).send(request).await.unwrap()
}

fn ids(page: &Value) -> Vec<String> {
    let events = page["events"].as_array().unwrap_or_else(|| panic!("{page}"));
    events
        .iter()
        .map(|event| event["id"].as_str().unwrap().to_owned())
        .collect()
}

fn ids_of(page: &Value) -> usize {
    page["events"].as_array().map_or(0, Vec::len)
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
