//! Someone gets a copy of the store: the files of SQLite, a dump of PostgreSQL, a snapshot of Redis.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hapax_core::BodyHash;
use hapax_test_postgres::Server as Postgres;
use hapax_test_redis::{Server as Redis, fresh_prefix};

use super::report;
use hapax_testkit::{Delivery, Reply, Sender, Service, Setup, Sink};

const KEY: &str = "the key of this test, which is long enough";
const LIMIT: Duration = Duration::from_secs(30);
/// In a body, in its conflict and in a destination's response.
const MARK: &str = "ada-lovelace-1815@example.com";

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_an_encrypted_store_shows_no_payload_and_confirms_no_guess() {
    let mut looked = 0;
    for keys in [&[][..], &[KEY]] {
        for store in ["SQLite", "PostgreSQL", "Redis"] {
            let copy = copy_of(store, keys).await;
            let shown: Vec<String> = traces()
                .into_iter()
                .filter(|trace| holds(&copy, trace))
                .map(|trace| named(&trace))
                .collect();
            if keys.is_empty() {
                assert!(
                    !shown.is_empty(),
                    "{store} in plain shows nothing: the search is broken"
                );
            } else {
                looked += copy.len();
                assert_eq!(shown, [""; 0], "in a copy of {store}");
            }
        }
    }
    report::write(
        "copied_store",
        &format!(
            "{looked} bytes of SQLite's files, pg_dump and a Redis snapshot, searched for a payload and its hashes"
        ),
        "found 0 times; in plain, in all three",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_in_plain_shows_nothing_once_its_rows_are_encrypted() {
    let sink = answering().await;
    let mut service = setup(&sink).start().await;
    leave(&service).await;
    service.restart_with(|setup| setup.encrypted(&[KEY])).await;
    let counted = hapax_testkit::eventually("everything is encrypted", LIMIT, async || {
        let encryption = service.api("stats").await["store"]["encryption"].clone();
        (encryption["plain"] == false).then_some(encryption)
    })
    .await;
    let doctor = service.hapax(&["doctor"]).await;
    let metrics = service.admin("/metrics").await.text();
    // The event is still known and can still be read.
    let answer = service.deliver(&deliveries()[0]).await;
    let payload = service
        .admin(&format!("/api/v1/events/{}/payload", answer.field("id")))
        .await;
    service.stop().await;
    let copy = files(service.setup.path());
    let shown: Vec<String> = traces()
        .into_iter()
        .filter(|trace| holds(&copy, trace))
        .map(|trace| named(&trace))
        .collect();
    report::write(
        "plain_rows_encrypted",
        &format!("{} bytes of a store that was used in plain first", copy.len()),
        &format!(
            "{} traces after the walk; needed keys: {}",
            shown.len(),
            counted["needed"]
        ),
    );
    assert_eq!(shown, [""; 0]);
    assert_eq!(answer.field("status"), "duplicate");
    assert_eq!(payload.body, deliveries()[0].body);
    assert!(
        doctor.stdout.contains("no other key is needed"),
        "{}",
        doctor.stdout
    );
    assert!(metrics.contains("hapax_reencrypted_values_total"), "{metrics}");
    let first = counted["first"].as_str().unwrap();
    assert!(
        metrics.contains(&format!("hapax_encrypted_values{{key=\"{first}\"}}")),
        "{metrics}"
    );
}

async fn answering() -> Sink {
    Sink::that(|_| Reply::body(400, format!("no customer {MARK}"))).await
}

fn setup(sink: &Sink) -> Setup {
    Setup::stripe_to_with(sink, "max_attempts = 1")
}

/// An event, and a conflict under its id.
fn deliveries() -> [Delivery; 2] {
    let sender = Sender::of("stripe");
    let object = |number: u32| serde_json::json!({"email": MARK, "number": number});
    [1, 2].map(|number| sender.stripe_event("evt_1", "customer.created", &object(number)))
}

/// Sends both, each twice, and waits for the destination's response.
async fn leave(service: &Service) {
    let [event, conflict] = deliveries();
    let id = service.deliver_twice(&event).await;
    for _ in 0..2 {
        assert_eq!(service.deliver(&conflict).await.field("status"), "conflict");
    }
    let event = service.until_event_is(&id, "dead", LIMIT).await;
    assert!(
        event.to_string().contains(&format!("no customer {MARK}")),
        "{event}"
    );
}

/// A used store, as found by someone who has nothing else.
async fn copy_of(store: &str, keys: &[&str]) -> Vec<u8> {
    let sink = answering().await;
    let setup = setup(&sink).encrypted(keys);
    match store {
        "SQLite" => {
            let mut service = setup.start().await;
            leave(&service).await;
            let with_log = files(service.setup.path());
            service.stop().await;
            [with_log, files(service.setup.path())].concat()
        }
        "PostgreSQL" => {
            let server = Postgres::shared().unwrap();
            let database = server.database().await.unwrap();
            let service = setup.database(&database.url()).start().await;
            leave(&service).await;
            drop(service);
            database.dump().unwrap()
        }
        _ => {
            // Compression would hide the text from a plain search.
            let server = Redis::start(&["--rdbcompression", "no"]).unwrap();
            let url = format!("{}?prefix={}", server.url(), fresh_prefix());
            let service = setup.database(&url).start().await;
            leave(&service).await;
            drop(service);
            snapshot(&server)
        }
    }
}

fn snapshot(server: &Redis) -> Vec<u8> {
    let mut connection = server.connect().unwrap();
    connection.call(&["SAVE"]).unwrap();
    let mut setting = |name| connection.call(&["CONFIG", "GET", name]).unwrap().list()[1].text();
    let (folder, file) = (setting("dir"), setting("dbfilename"));
    std::fs::read(Path::new(&folder).join(file)).unwrap()
}

/// The files of a store, without its configuration.
fn files(folder: &Path) -> Vec<u8> {
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let of_store = paths.filter(|path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("hapax.db")
    });
    of_store.flat_map(|path| std::fs::read(path).unwrap()).collect()
}

/// What must not be found: the text, and the hashes that could confirm a guess.
fn traces() -> Vec<Vec<u8>> {
    let hashes = deliveries().map(|delivery| BodyHash::of(&delivery.body).as_bytes().to_vec());
    std::iter::once(MARK.as_bytes().to_vec()).chain(hashes).collect()
}

/// Verbatim, in hexadecimal, or in Base64.
fn holds(copy: &[u8], trace: &[u8]) -> bool {
    let forms = [
        trace.to_vec(),
        hex::encode(trace).into_bytes(),
        STANDARD_NO_PAD.encode(trace).into_bytes(),
    ];
    forms
        .iter()
        .any(|form| copy.windows(form.len()).any(|window| window == form))
}

fn named(trace: &[u8]) -> String {
    String::from_utf8_lossy(trace).into_owned()
}
