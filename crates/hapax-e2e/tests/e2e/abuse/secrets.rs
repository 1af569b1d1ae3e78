//! Whatever happens, and however much is logged: no secret, no token and no part of a body is ever in the log.

use std::time::Duration;

use hapax_test_postgres::Server;
use http::Request;
use http_body_util::Full;
use serde_json::json;

use hapax_testkit::{Connection, Sender, Service, Setup, Sink, eventually, secret_of};

const LIMIT: Duration = Duration::from_secs(30);

/// Everything that is planted contains this.
const MARK: &str = "hunter2";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_secret_is_in_the_log_at_any_level() {
    let (sink, server) = (Sink::start().await, Server::shared().unwrap());
    let database = server.database().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let outbox = folder.path().join("app.db");
    write_rows(&outbox, &sink);
    let service = setup(&sink, &database.url(), &outbox.display().to_string())
        .start()
        .await;

    deliver_everything(&service).await;
    look_at_everything(&service).await;
    for line in [
        "delivered",
        "delivery is dead",
        "attempt failed",
        "another body",
        "request refused",
        "a row of the outbox was refused",
        "traces are not exported",
    ] {
        eventually(line, LIMIT, async || service.log().contains(line).then_some(())).await;
    }
    let log = service.log();
    assert!(
        log.contains("\"TRACE\"") || log.contains("\"DEBUG\""),
        "the log is not at its loudest"
    );
    for secret in [MARK, &secret_of("stripe"), "aHVudGVyMg"] {
        let shown = log.lines().find(|line| line.contains(secret));
        assert_eq!(shown, None, "{secret} is in the log");
    }
}

fn setup(sink: &Sink, database: &str, outbox: &str) -> Setup {
    let url = format!("{}?token={MARK}", sink.url());
    let failing = "max_attempts = 2\nbackoff = { first = \"1ms\", cap = \"1ms\" }";
    Setup::new()
        .server(&format!("admin_token = \"admin-token-{MARK}\""))
        .source(
            "stripe",
            "stripe",
            "deliver_to = [\"app\", \"script\", \"table\", \"gone\", \"away\"]",
        )
        .http(
            "app",
            &url,
            "secret = \"whsec_aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==\"",
        )
        .http(
            "gone",
            &format!("http://127.0.0.1:1/{MARK}?token={MARK}"),
            "max_attempts = 1",
        )
        .table(&format!(
            "[destinations.script]\nkind = \"command\"\n\
             command = [\"sh\", \"-c\", \"cat; cat >&2; echo {MARK}; exit 3\", \"{MARK}\"]\n{failing}"
        ))
        .table(&format!(
            "[destinations.table]\nkind = \"sql\"\nurl = \"{database}\"\n\
             params = {{ note = \"body:/data/object/note\" }}\n\
             statements = [\"select cast(:note as integer)\"]\n{failing}"
        ))
        .table(&format!(
            "[destinations.away]\nkind = \"sql\"\nurl = \"postgres://app:{MARK}@127.0.0.1:1/app\"\n\
             params = {{ note = \"body:/data/object/note\" }}\nstatements = [\"select :note\"]\n{failing}"
        ))
        .table(&format!(
            "[outbox.app]\nurl = \"sqlite:{outbox}\"\npoll = \"10ms\"\nallow_targets = [\"127.0.0.1\"]"
        ))
        .table(&format!(
            "[traces]\nendpoint = \"http://127.0.0.1:1\"\nheaders = {{ authorization = \"Bearer {MARK}\" }}"
        ))
        .before("export HAPAX_LOG=trace HAPAX_LOG_FORMAT=json")
}

/// One row that is called, and two that are refused; each twice, as an application that was not sure would.
fn write_rows(path: &std::path::Path, sink: &Sink) {
    let rows = rusqlite::Connection::open(path).unwrap();
    rows.execute_batch(hapax::tables::SQLITE_OUTBOX).unwrap();
    for (target, key) in [
        (format!("{}?token={MARK}", sink.url()), "good"),
        (format!("ftp://{MARK}"), "bad"),
    ] {
        let insert = format!(
            "INSERT INTO hapax_outbox (kind, target, headers, body, idempotency_key) \
             VALUES ('http', '{target}', '{{\"authorization\": \"Bearer {MARK}\"}}', '{MARK}', '{key}');"
        );
        rows.execute_batch(&insert).unwrap();
        rows.execute_batch(&insert).unwrap();
    }
}

async fn deliver_everything(service: &Service) {
    let sender = Sender::of("stripe");
    let note = |text: &str| json!({"note": format!("{MARK} {text}")});
    let good = sender
        .stripe_event("evt_1", "invoice.paid", &note("first"))
        .with_header("authorization", format!("Bearer {MARK}"))
        .with_header("cookie", MARK)
        .at_path(&format!("/in/stripe?key={MARK}"));
    service.deliver_twice(&good).await;
    let other = sender.stripe_event("evt_1", "invoice.paid", &note("second"));
    for _ in 0..2 {
        assert_eq!(service.deliver(&other).await.field("status"), "conflict");
    }
    let forged = sender
        .stripe_event("evt_2", "invoice.paid", &note("third"))
        .with_other_header("stripe-signature", format!("t=1,v1={MARK}"));
    for delivery in [&forged, &forged.clone().without_header("stripe-signature")] {
        for _ in 0..2 {
            assert!((400..500).contains(&service.deliver(delivery).await.status));
        }
    }
    service
        .deliver(&sender.event("evt_3").at_path(&format!("/in/{MARK}")))
        .await;
}

/// Right and wrong tokens, everywhere a token is accepted.
async fn look_at_everything(service: &Service) {
    let admin = service.setup.admin;
    for token in [format!("admin-token-{MARK}"), format!("wrong-{MARK}")] {
        let asked = Request::get(format!("/api/v1/events?q={MARK}"))
            .header("host", admin.to_string())
            .header("authorization", format!("Bearer {token}"))
            .body(Full::default())
            .unwrap();
        Connection::to(admin).send(asked).await.unwrap();
        let login = Request::post("/login")
            .header("host", admin.to_string())
            .header("origin", format!("http://{admin}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::from(format!("token={token}&name=somebody")))
            .unwrap();
        Connection::to(admin).send(login).await.unwrap();
    }
}
