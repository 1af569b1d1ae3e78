//! A token that is limited to one source: no API answer and no page contains anything of another source.

use std::collections::BTreeSet;

use hapax_config::Role;
use hapax_testkit::HttpResponse;
use serde_json::Value;

use super::site::{Mood, Site, TOKEN, token};

/// Part of every id, body, name and destination of the source that the token must not see.
const HIDDEN: &str = "payments";
const LIMITED: &str = "limited-0123456789abcdef";

/// Two sources with one event each: one dead, the hidden one in conflict. The hidden source also has a replay job, a
/// saved search and a pause.
struct Mixed {
    site: Site,
    theirs: String,
    hidden: String,
    hash: String,
    job: String,
}

async fn mixed() -> Mixed {
    let site = Site::start().await;
    site.mood(Mood::Refusing);
    site.admit(
        TOKEN,
        vec![token(
            "limited",
            LIMITED,
            Role::Admin,
            Some(&["stripe", "backup"]),
        )],
    );
    let theirs = site.accept_until("evt_theirs", "dead").await.to_string();
    site.accept("evt_theirs").await;
    let mut hidden = String::new();
    for body in ["{\"payments\":1}", "{\"payments\":1}", "{\"payments\":2}"] {
        let accepted = site.accept_as("payments", "evt_payments", body).await;
        if hidden.is_empty() {
            hidden = accepted.id().to_string();
        }
    }
    let hash = site
        .eventually("the conflict is kept", async || {
            let view = site.get(&format!("events/{hidden}")).await.json();
            view["conflicts"][0]["body_sha256"].as_str().map(str::to_owned)
        })
        .await;
    let replay = format!("events/{hidden}/replay");
    site.post(&replay, r#"{"mode":"all","to":"ledger"}"#).await.ok();
    let job = site.post("replays", r#"{"query":"source:payments"}"#).await;
    let job = job.json()["id"].as_str().unwrap().to_owned();
    site.put("searches/payments", r#"{"query":"source:payments"}"#)
        .await
        .ok();
    site.post("destinations/ledger/pause", r#"{"why":"payments"}"#)
        .await
        .ok();
    Mixed {
        site,
        theirs,
        hidden,
        hash,
        job,
    }
}

impl Mixed {
    /// Every operation, with the ids of the hidden source in its path.
    async fn operations(&self) -> Vec<(String, String, Value)> {
        let document = self.site.get("openapi.json").await.ok();
        let mut found = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            let id = if path.starts_with("/api/v1/replays") {
                &self.job
            } else {
                &self.hidden
            };
            let name = if path.contains("/destinations/") {
                "ledger"
            } else {
                HIDDEN
            };
            let filled = path
                .replace("{id}", id)
                .replace("{hash}", &self.hash)
                .replace("{source}", HIDDEN)
                .replace("{event_id}", "evt_payments")
                .replace("{name}", name);
            for (method, operation) in item.as_object().unwrap() {
                found.push((method.to_ascii_uppercase(), filled.clone(), operation.clone()));
            }
        }
        found
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        let bearer = format!("Bearer {LIMITED}");
        self.site
            .send(method, path, &[("authorization", &bearer)], body)
            .await
    }

    /// Fails if a successful answer contains anything of the hidden source.
    fn is_clean(&self, what: &str, answer: &HttpResponse) {
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if answer.status >= 400 {
            // A refusal may repeat the request, so only its status is checked.
            assert!(
                [400, 403, 404].contains(&answer.status),
                "{what}: {} {text}",
                answer.status
            );
            return;
        }
        for secret in [HIDDEN, &self.hidden, &self.hash, &self.job, "money"] {
            assert!(!text.contains(secret), "{what} shows `{secret}`: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limited_token_gets_nothing_of_another_source_from_any_operation() {
    let mixed = mixed().await;
    let mut refused = BTreeSet::new();
    let mut count = 0;
    for (method, path, operation) in mixed.operations().await {
        // Probes need no token; the stream never ends and is tested in `stream`.
        if !path.starts_with("/api/") || path.ends_with("/stream") {
            continue;
        }
        count += 1;
        let answer = mixed.ask(&method, &path, "{}").await;
        mixed.is_clean(&format!("{method} {path}"), &answer);
        if answer.status == 403 {
            refused.insert(operation["operationId"].as_str().unwrap().to_owned());
        }
        let is_one = path.contains(&mixed.hidden) || path.contains(&mixed.job) || path.contains(HIDDEN);
        assert!(!is_one || answer.status >= 400, "{method} {path}: {answer:?}");
    }
    assert!(count > 30, "{count}");
    let whole = [
        "deleteSavedSearch",
        "listAudit",
        "saveSavedSearch",
        "testAlerts",
        "verifyAudit",
    ];
    assert_eq!(
        refused,
        whole.map(str::to_owned).into(),
        "requests that cannot be limited to sources"
    );
    for query in ["source:payments", "status:dead"] {
        let body = format!("{{\"query\":\"{query}\",\"discard_unfinished\":true}}");
        let erased = mixed.ask("POST", "/api/v1/erasures", &body).await;
        assert_eq!(erased.status, 403, "{query}: {erased:?}");
    }
    for path in [
        "events?source=payments",
        "events?q=source:payments",
        "stats/duplicates?source=payments",
        "events?event_id=evt_payments",
        "stats?range=1h",
        "overview?range=1h",
        "query/complete?q=source:",
        "query/complete?q=to:",
        "query/complete?q=type:",
        "deliveries?destination=ledger",
    ] {
        mixed.is_clean(path, &mixed.ask("GET", &format!("/api/v1/{path}"), "").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limited_token_sees_its_own_source_and_works_on_it() {
    let mixed = mixed().await;
    let events = mixed.ask("GET", "/api/v1/events", "").await.ok();
    let sources: Vec<_> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["source"])
        .collect();
    assert_eq!(sources, ["stripe"]);
    let dead = mixed.ask("GET", "/api/v1/deliveries", "").await.ok();
    assert_eq!(dead["deliveries"][0]["event"], mixed.theirs);
    let own = format!("{{\"deliveries\":[{{\"event\":\"{}\"}}]}}", mixed.theirs);
    let discarded = mixed.ask("POST", "/api/v1/deliveries/discard", &own).await.ok();
    assert_eq!(discarded["changed"], 1);
    let all = mixed
        .ask("POST", "/api/v1/replays", r#"{"query":"status:dead"}"#)
        .await;
    all.assert_problem(403, "sources_limited");
    let one = mixed
        .ask("POST", "/api/v1/replays", r#"{"query":"source:stripe"}"#)
        .await;
    assert_eq!(one.status, 202, "{one:?}");
    // Whether there is a next page would reveal the contents of hidden events.
    for query in ["event_id=evt_payments", "type=invoice.paid", "q=body:/payments=1"] {
        mixed
            .ask("GET", &format!("/api/v1/events?{query}"), "")
            .await
            .assert_problem(403, "sources_limited");
        let named = format!("/api/v1/events?{query}&source=stripe");
        mixed.ask("GET", &named, "").await.ok();
    }
    let replays = mixed.ask("GET", "/api/v1/replays", "").await.ok();
    assert_eq!(replays["replays"].as_array().unwrap().len(), 1);
    let other = format!(
        "{{\"deliveries\":[{{\"event\":\"{}\",\"destination\":\"ledger\"}}]}}",
        mixed.hidden
    );
    mixed
        .ask("POST", "/api/v1/deliveries/discard", &other)
        .await
        .assert_problem(404, "event_not_found");
    mixed
        .ask("POST", "/api/v1/destinations/ledger/resume", "")
        .await
        .assert_problem(404, "unknown_destination");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limited_session_gets_nothing_of_another_source_from_any_page() {
    let mixed = mixed().await;
    let login = mixed
        .site
        .send("POST", "/login", &[], &format!("token={LIMITED}"))
        .await;
    let cookie = login
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let of_event =
        ["", "/payload?as=raw", "/export?as=python"].map(|rest| format!("/events/{}{rest}", mixed.hidden));
    let pages = [
        "/",
        "/?range=1h",
        "/events",
        "/events?q=source:payments",
        "/dead",
        "/dead?list=discarded",
        "/replays",
        "/sources",
        "/outbox",
        "/duplicates",
        "/destinations",
        "/audit",
    ];
    let of_job = [format!("/replays/{}", mixed.job)];
    for path in pages.into_iter().map(str::to_owned).chain(of_event).chain(of_job) {
        let page = mixed.site.send("GET", &path, &[("cookie", &cookie)], "").await;
        mixed.is_clean(&path, &page);
        assert!(
            !path.contains(&mixed.hidden) || page.status == 404,
            "{path}: {}",
            page.status
        );
    }
}
