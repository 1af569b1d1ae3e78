//! Someone with their own token claims to be someone else, in every place from which the audit trail might take a name.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::Request;
use http_body_util::Full;
use serde_json::Value;

use super::report;
use hapax_testkit::{Connection, HttpResponse, Reply, Sender, Service, Setup, Sink};

const TOKEN: &str = "ops-0123456789abcdef0123456789abcdef";
const FORGED: &str = "root";
const LIMIT: Duration = Duration::from_secs(20);

/// Every audited action that a caller can take on this site.
const AUDITED: [&str; 15] = [
    "alerts.test",
    "conflict.release",
    "dead.discard",
    "dead.restore",
    "erase",
    "forget",
    "outbox retry",
    "pause",
    "register",
    "replay",
    "replay.cancel",
    "replay.start",
    "resume",
    "saved_search.delete",
    "saved_search.save",
];

struct Attacker {
    service: Service,
    cookie: String,
    csrf: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn no_caller_chooses_the_name_that_the_audit_trail_keeps() {
    let sink = Sink::that(|_| Reply::Status(410)).await;
    let setup = Setup::stripe_to_with(&sink, "max_attempts = 1")
        .server("admin_token = \"0123456789abcdef0123456789abcdef\"")
        .encrypted(&["0123456789abcdef0123456789abcdef"])
        .server(&format!(
            "tokens = [{{ name = \"ops\", token = \"{TOKEN}\", role = \"admin\" }}]"
        ))
        .table("[sources.asana]\nprovider = \"asana\"\ndeliver_to = []\n");
    let database = prepare_outbox(&setup);
    let setup = setup.table(&format!(
        "[outbox.app]\nurl = \"sqlite:{}\"\n",
        database.display()
    ));
    let attacker = Attacker::sign_in(setup.start().await).await;
    let tried = attacker.through_the_api().await + attacker.through_forms().await;
    let entries = attacker.audit().await;
    let found: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry["action"].as_str())
        .collect();
    let forged = entries.iter().filter(|entry| entry["who"] != "ops").count();
    let outcome = format!(
        "{forged} of {} entries under a name that the caller chose",
        entries.len()
    );
    report::write(
        "actors",
        &format!("{tried} audited calls that claim to be `{FORGED}`"),
        &outcome,
    );
    assert_eq!(forged, 0, "{entries:#?}");
    assert_eq!(found, BTreeSet::from(AUDITED));
    assert_eq!(entries.len(), tried);
    let noted = entries
        .iter()
        .filter(|entry| entry["detail"].as_str().unwrap().ends_with("note: root"));
    assert_eq!(noted.count(), tried, "what they say is shown as a note");
}

/// Rows that the outbox refuses, so that there are some to retry.
fn prepare_outbox(setup: &Setup) -> PathBuf {
    let path = setup.path().join("app.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch(hapax::tables::SQLITE_OUTBOX).unwrap();
    for id in 1..=2 {
        database
            .execute(
                "INSERT INTO hapax_outbox (id, idempotency_key, kind, target, body) VALUES (?1, ?2, 'destination', 'nobody', x'7b7d')",
                (id, format!("key-{id}")),
            )
            .unwrap();
    }
    path
}

impl Attacker {
    async fn sign_in(service: Service) -> Self {
        let mut attacker = Self {
            service,
            cookie: String::new(),
            csrf: String::new(),
        };
        let login = [
            ("token", TOKEN),
            ("note", FORGED),
            ("name", FORGED),
            ("who", FORGED),
        ];
        let answer = attacker.form("/login", &login).await;
        let cookie = answer.header("set-cookie").unwrap();
        attacker.cookie = cookie.split(';').next().unwrap().to_owned();
        let page = attacker.call("GET", "/destinations", "").await.text();
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split('"').next().unwrap().clone_into(&mut attacker.csrf);
        attacker
    }

    /// A dead event, delivered twice, and a conflict under its id.
    async fn event(&self, id: &str) -> (String, String) {
        let sender = Sender::of("stripe");
        let ours = self.service.deliver_twice(&sender.event(id)).await;
        let other = format!("{{\"id\":\"{id}\",\"object\":\"event\",\"type\":\"other\"}}");
        self.service.deliver(&sender.with_body(id, other)).await;
        let path = format!("/api/v1/events/{ours}");
        let hash = hapax_testkit::eventually("the event is dead and has a conflict", LIMIT, async || {
            let event = self.call("GET", &path, "").await.json();
            let hash = event["conflicts"][0]["body_sha256"].as_str()?.to_owned();
            (event["status"] == "dead").then_some(hash)
        })
        .await;
        (ours, hash)
    }

    async fn until_refused(&self, row: u32) {
        hapax_testkit::eventually("the row is refused", LIMIT, async || {
            let outboxes = self.call("GET", "/api/v1/outbox", "").await.json();
            let rows = outboxes["outboxes"][0]["refused_rows"].as_array()?.clone();
            rows.iter().any(|one| one["id"] == row).then_some(())
        })
        .await;
    }

    /// Calls every audited operation of the API; returns how many.
    async fn through_the_api(&self) -> usize {
        let (id, hash) = self.event("evt_api").await;
        self.until_refused(1).await;
        let one = format!("{{\"deliveries\":[{{\"event\":\"{id}\",\"destination\":\"app\"}}]}}");
        let calls = [
            (
                "POST",
                format!("events/{id}/conflicts/{hash}/release"),
                String::new(),
            ),
            ("POST", "deliveries/discard".to_owned(), one.clone()),
            ("POST", "deliveries/restore".to_owned(), one),
            ("POST", "destinations/app/pause".to_owned(), String::new()),
            ("POST", "destinations/app/resume".to_owned(), String::new()),
            (
                "PUT",
                "searches/mine".to_owned(),
                "{\"query\":\"status:dead\"}".to_owned(),
            ),
            ("DELETE", "searches/mine".to_owned(), String::new()),
            ("POST", "alerts/test".to_owned(), String::new()),
            ("POST", "sources/asana/registration".to_owned(), String::new()),
            ("POST", "outbox/app/1/retry".to_owned(), String::new()),
            ("POST", format!("events/{id}/replay"), String::new()),
        ];
        let count = calls.len();
        for (method, path, body) in calls {
            let answer = self.call(method, &format!("/api/v1/{path}"), &body).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        }
        // Nothing matches, and the pause keeps the job from finishing before it is cancelled.
        let pause = self.call("POST", "/api/v1/destinations/app/pause", "").await;
        assert_eq!(pause.status, 200);
        let slow = "{\"query\":\"source:stripe\",\"rate\":1}";
        let job = self.call("POST", "/api/v1/replays", slow).await.json()["id"].clone();
        let path = format!("/api/v1/replays/{}", job.as_str().unwrap());
        let cancelled = self.call("DELETE", &path, "").await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.text());
        let resumed = self.call("POST", "/api/v1/destinations/app/resume", "").await;
        assert_eq!(resumed.status, 200);
        self.service_is_idle(&id).await;
        let forgotten = self.call("DELETE", "/api/v1/ledger/stripe/evt_api", "").await;
        assert_eq!(forgotten.status, 200, "{}", forgotten.text());
        let one = "{\"query\":\"id:evt_api\"}";
        let erased = self.call("POST", "/api/v1/erasures", one).await;
        assert_eq!(erased.status, 200, "{}", erased.text());
        count + 6
    }

    async fn service_is_idle(&self, id: &str) {
        let path = format!("/api/v1/events/{id}");
        hapax_testkit::eventually("the event is dead again", LIMIT, async || {
            let event = self.call("GET", &path, "").await.json();
            (event["status"] == "dead").then_some(())
        })
        .await;
    }

    /// Submits every audited form of the dashboard; returns how many.
    async fn through_forms(&self) -> usize {
        let (id, hash) = self.event("evt_form").await;
        self.until_refused(2).await;
        let one = [("event", id.as_str()), ("destination", "app")];
        let forms: [(String, &[(&str, &str)]); 12] = [
            (format!("/events/{id}/conflicts/{hash}/release"), &[]),
            ("/dead/discard".to_owned(), &one),
            ("/dead/restore".to_owned(), &one),
            ("/destinations/app/pause".to_owned(), &[]),
            ("/destinations/app/resume".to_owned(), &[]),
            ("/searches".to_owned(), &[("name", "mine"), ("q", "status:dead")]),
            ("/searches/delete".to_owned(), &[("name", "mine")]),
            ("/sources/asana/registration".to_owned(), &[]),
            ("/outbox/app/rows/2/retry".to_owned(), &[]),
            (format!("/events/{id}/replay"), &[]),
            ("/dead/replay/start".to_owned(), &[("q", "id:nothing")]),
            (
                "/ledger/forget".to_owned(),
                &[("source", "stripe"), ("event_id", "evt_form")],
            ),
        ];
        let count = forms.len();
        for (action, fields) in forms {
            if action == "/ledger/forget" {
                self.service_is_idle(&id).await;
            }
            let answer = self.form(&action, fields).await;
            assert_eq!(answer.status, 303, "{action}: {}", answer.text());
        }
        count
    }

    async fn audit(&self) -> Vec<Value> {
        let audit = self.call("GET", "/api/v1/audit?limit=200", "").await.json();
        audit["audit"].as_array().unwrap().clone()
    }

    /// Calls the API under every name that a caller might claim.
    async fn call(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        let is_api = path.starts_with("/api/");
        let mut request = Request::builder().method(method).uri(path);
        for header in [
            "hapax-actor",
            "hapax-note",
            "x-forwarded-user",
            "x-remote-user",
            "from",
        ] {
            request = request.header(header, FORGED);
        }
        request = if is_api {
            request.header("authorization", format!("Bearer {TOKEN}"))
        } else {
            request.header("cookie", &self.cookie)
        };
        self.send(request, body.to_owned()).await
    }

    async fn form(&self, path: &str, fields: &[(&str, &str)]) -> HttpResponse {
        let mut body = Serializer::new(String::new());
        body.extend_pairs(fields);
        for field in ["who", "by", "actor", "user"] {
            body.append_pair(field, FORGED);
        }
        body.append_pair("csrf", &self.csrf);
        let request = Request::builder()
            .method("POST")
            .uri(path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("hapax-actor", FORGED)
            .header("cookie", &self.cookie);
        self.send(request, body.finish()).await
    }

    async fn send(&self, request: http::request::Builder, body: String) -> HttpResponse {
        let admin = self.service.setup.admin;
        let request = request.header("host", admin.to_string());
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        Connection::to(admin).send(request).await.unwrap()
    }
}
