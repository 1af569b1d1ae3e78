//! An attacker who can write an outbox row uses Hapax to call addresses that only Hapax can reach: this machine, its
//! private network, the admin port.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value;

use super::report;
use hapax_testkit::{Service, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(60);
/// Every credential of a row contains this.
const MARK: &str = "hunter2";

struct App(Connection);

impl App {
    fn new(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection.execute_batch(hapax::tables::SQLITE_OUTBOX).unwrap();
        Self(connection)
    }

    /// Writes a row twice, as an application that was not sure would. Its key is the URL without the secret parts.
    fn write(&self, url: &str) {
        let insert = "INSERT INTO hapax_outbox (kind, target, headers, body, idempotency_key) VALUES ('http', ?1, ?2, 'x', ?3)";
        let headers = format!(
            "{{\"authorization\": \"Bearer {MARK}\", \"x-api-key\": \"{MARK}\", \"x-reply-to\": \"https://example.com/?t={MARK}\"}}"
        );
        let key = url.split('?').next().unwrap();
        for _ in 0..2 {
            self.0.execute(insert, [url, &headers, key]).unwrap();
        }
    }
}

async fn start(setup: Setup, allow_targets: &str) -> (App, Service) {
    let path = setup.path().join("app.db");
    let app = App::new(&path);
    let table = format!(
        "[outbox.app]\nurl = \"sqlite:{}\"\npoll = \"10ms\"\nallow_targets = {allow_targets}\n",
        path.display()
    );
    (app, setup.table(&table).start().await)
}

/// Every event, once this many are in this state.
async fn ended(service: &Service, count: usize, status: &str) -> Vec<Value> {
    eventually(&format!("{count} calls are {status}"), LIMIT, async || {
        let page = service.api("events?limit=100").await;
        let ids = page["events"].as_array().unwrap().iter();
        let ids: Vec<String> = ids
            .filter(|event| event["status"] == status)
            .map(|event| event["id"].as_str().unwrap().to_owned())
            .collect();
        if ids.len() < count {
            return None;
        }
        let mut events = Vec::new();
        for id in ids {
            events.push(service.api(&format!("events/{id}")).await);
        }
        Some(events)
    })
    .await
}

/// A dead letter after one attempt, with a reason that says what to do.
fn assert_blocked(event: &Value, because: &str) {
    let attempts = event["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1, "{event}");
    assert_eq!(attempts[0]["error"], "blocked", "{event}");
    let message = attempts[0]["message"].as_str().unwrap();
    assert!(message.contains(because), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_reaches_nothing_that_is_not_public() {
    let victim = Sink::start().await;
    let port = victim.url().parse::<http::Uri>().unwrap().port_u16().unwrap();
    let (app, service) = start(Setup::stripe_to(&victim), "[]").await;
    let hosts = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.8.8.8",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "[fd00::1]",
        "[fec0::1]",
    ];
    for host in hosts {
        app.write(&format!("http://{host}:{port}/hook?token={MARK}"));
    }
    let dead = ended(&service, hosts.len(), "dead").await;
    report::write(
        "outbox-targets",
        &format!(
            "{} rows name loopback and private addresses in {} forms",
            hosts.len() * 2,
            hosts.len()
        ),
        &format!(
            "{} dead letters after one attempt, {} calls",
            dead.len(),
            victim.received().len()
        ),
    );
    assert_eq!(dead.len(), hosts.len());
    for event in &dead {
        assert_blocked(event, "`allow_targets` of [outbox.app]");
    }
    assert_eq!(victim.received().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_allowed_is_called_and_our_own_listeners_never() {
    let friend = Sink::start().await;
    let mut setup = Setup::stripe_to(&friend);
    setup.listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, setup.listen.port()));
    let (listen, admin) = (setup.listen.port(), setup.admin.port());
    let (app, service) = start(setup, "[\"127.0.0.0/8\", \"::1\", \"localhost\"]").await;
    let pause = "api/v1/destinations/app/pause";
    let own = [
        format!("http://127.0.0.1:{admin}/{pause}"),
        format!("http://localhost:{admin}/{pause}"),
        format!("http://2130706433:{admin}/{pause}"),
        format!("http://[::ffff:127.0.0.1]:{admin}/{pause}"),
        format!("http://127.0.0.1:{listen}/in/stripe"),
        format!("http://127.3.2.1:{listen}/in/stripe"),
        format!("http://localhost:{listen}/in/stripe"),
    ];
    for url in &own {
        app.write(url);
    }
    app.write(&friend.url());
    let dead = ended(&service, own.len(), "dead").await;
    let done = ended(&service, 1, "completed").await;
    let paused = service
        .api("destinations")
        .await
        .to_string()
        .contains("\"paused\":true");
    report::write(
        "outbox-own-listeners",
        &format!(
            "{} rows name our own ports, with loopback allow-listed",
            own.len() * 2
        ),
        &format!(
            "{} dead letters after one attempt; the allowed host was called {} time(s)",
            dead.len(),
            friend.received().len()
        ),
    );
    for event in &dead {
        assert_blocked(event, "a listener of Hapax itself");
    }
    assert!(!paused);
    assert_eq!(done.len(), 1);
    assert_eq!(
        friend.received().len(),
        1,
        "the row was written twice, and called once"
    );
}

/// The wildcard address belongs to no host but still leads to this machine: such a row never becomes an event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_for_an_address_that_nobody_may_call_is_refused_at_once() {
    let victim = Sink::start().await;
    let port = victim.url().parse::<http::Uri>().unwrap().port_u16().unwrap();
    let everything = "[\"0.0.0.0/0\", \"::/0\"]";
    let (app, service) = start(Setup::stripe_to(&victim), everything).await;
    let hosts = [
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
    ];
    for host in hosts {
        app.write(&format!("http://{host}:{port}/hook"));
    }
    let refused = eventually("the rows are refused", LIMIT, async || {
        let refused = service.api("outbox").await["outboxes"][0]["refused"].as_u64()?;
        (refused == 2 * hosts.len() as u64).then_some(refused)
    })
    .await;
    // Written as a number, an address looks like a name to everything but the resolver.
    let numbers = ["0", "2852039166"];
    for host in numbers {
        app.write(&format!("http://{host}:{port}/hook"));
    }
    let dead = ended(&service, numbers.len(), "dead").await;
    report::write(
        "outbox-forbidden-targets",
        &format!("{refused} rows name wildcard and metadata addresses, with everything allow-listed"),
        &format!(
            "{refused} refused rows, {} dead letters, {} calls",
            dead.len(),
            victim.received().len()
        ),
    );
    for event in &dead {
        assert_blocked(event, "is not an allowed target");
    }
    assert_eq!(victim.received().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_of_a_row_are_shown_to_nobody() {
    let friend = Sink::start().await;
    let (app, service) = start(
        Setup::stripe_to(&friend).before("export HAPAX_LOG=trace"),
        "[\"127.0.0.1\"]",
    )
    .await;
    app.write(&format!("{}?token={MARK}", friend.url()));
    let event = ended(&service, 1, "completed").await.remove(0);
    let id = event["id"].as_str().unwrap();
    // The target gets all of it.
    let received = friend.received().remove(0);
    assert_eq!(received.header("x-api-key"), Some(MARK));
    let mut shown = vec![event.to_string(), service.log()];
    for path in [
        format!("/events/{id}"),
        format!("/events/{id}/payload?shown=headers"),
        format!("/api/v1/events/{id}/export?as=python"),
        format!("/api/v1/events/{id}/export?as=rust"),
        "/api/v1/outbox".to_owned(),
        "/outbox".to_owned(),
    ] {
        let answer = service.admin(&path).await;
        assert_eq!(answer.status, 200, "{path}");
        shown.push(answer.text());
    }
    shown.push(service.hapax(&["events", "show", id]).await.stdout);
    shown.push(service.hapax(&["config", "show"]).await.stdout);
    let leaks = shown.iter().filter(|text| text.contains(MARK)).count();
    report::write(
        "outbox-credentials",
        &format!(
            "a row with a token in its URL and two headers, seen in {} views",
            shown.len()
        ),
        &format!("{leaks} show it"),
    );
    for text in shown {
        assert!(!text.contains(MARK), "{text}");
    }
}
