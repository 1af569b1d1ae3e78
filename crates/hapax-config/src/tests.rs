//! The settings that the configuration accepts and refuses, with the messages that people read.

mod alerts;
mod checks;
mod destinations;
mod limits;
mod oidc;
mod overlay;
mod reading;
mod secrets;
mod sources;
mod tls;
mod traces;

use std::path::Path;

use super::*;

/// A file with every key that this build accepts.
const FULL: &str = r#"
[server]
listen = "127.0.0.1:8080"
admin_listen = "127.0.0.1:8081"
admin_token = "env:TOKEN"
body_limit = "5MiB"
public_url = "https://hooks.example.com/"

[store]
url = "sqlite:hapax.db"
encryption_keys = ["env:STATE_KEY"]

[sources.stripe]
provider = "stripe"
secrets = ["env:STRIPE_NEW", "env:STRIPE_OLD"]
deliver_to = ["billing", "script", "ledger"]
ledger_window = "30d"
payload_retention = "14d"
dead_retention = "30d"
ack = "stored"
ack_status = 202
scope = "stripe"
options = {}
rate_limit = "500/s"

[sources.inhouse]
verify = { scheme = "hmac-sha256", header = "x-signature", encoding = "hex", prefix = "sha256=", signed = "{timestamp}.{body}", timestamp_header = "x-timestamp", tolerance = "5m" }
event_id = ["header:x-event-id", "body:/data/id"]
event_type = "body:/type"
secrets = ["env:STRIPE_NEW"]
deliver_to = ["billing"]

[destinations.billing]
kind = "http"
url = "http://127.0.0.1:3000/webhooks"
events = ["invoice.*", "charge.refunded"]
secret = "env:SIGNING"
timeout = "10s"
concurrency = 32
rate_limit = "100/s"
max_attempts = 12
backoff = { first = "2s", cap = "30m" }
order_by = "body:/data/object/id"
on_dead = "skip"
lease = "60s"
id = "billing-1"

[destinations.script]
kind = "command"
command = ["./on-event.sh", "--now"]

[destinations.ledger]
kind = "sql"
url = "env:DATABASE"
params = { order = "body:/data/object/id", amount = { from = "body:/data/object/amount", type = "integer", optional = true }, event = "event_id" }
statements = ["update orders set status = 'paid', amount = :amount, event = :event where id = :order and status = 'pending'"]
connections = 2
inbox_retention = "90d"

[outbox.app]
url = "env:DATABASE"
poll = "500ms"
retention = "2d"
batch = 50
timeout = "5s"
secret = "env:SIGNING"
concurrency = 8
max_attempts = 20
backoff = { first = "1s", cap = "5m" }
on_dead = "skip"

[alerts]
dedupe_rate = 0.25
handler_p95 = "2s"
oldest_pending = "5m"
dead_letters = 3
breaker_open = "30s"
conflicts = false
signature_failures = 100
duplicate_gap = 1
store_write_p95 = "250ms"
outbox_down = "30s"
outbox_refused = 2
outbox_waiting = false
resolve_after = "2m"

[alerts.receivers.chat]
kind = "slack"
url = "env:CHAT_URL"
timeout = "5s"

[alerts.receivers.pager]
kind = "webhook"
url = "env:CHAT_URL"
secret = "env:SIGNING"

[alerts.receivers.script]
kind = "command"
command = ["./on-alert.sh"]

[traces]
endpoint = "http://127.0.0.1:4318"
headers = { authorization = "env:OTLP_TOKEN" }
sample = 0.5
service_name = "hooks"
timeout = "2s"

[[server.tokens]]
name = "ci"
token = "env:CI_TOKEN"
role = "operate"
sources = ["stripe"]

[server.tls]
cert = "/etc/hapax/tls.crt"
key = "/etc/hapax/tls.key"

[server.admin_tls]
cert = "/etc/hapax/admin.crt"
key = "/etc/hapax/admin.key"
client_ca = "/etc/hapax/clients.crt"

[server.oidc]
issuer = "https://login.example.com/"
discovery_url = "https://login.internal/.well-known/openid-configuration"
ca = "company.pem"
client_id = "hapax"
client_secret = "env:SIGNING"
dashboard_url = "https://hapax.example.com/"
scopes = ["groups"]
role_claim = "/resource_access/hapax/roles"
roles = { platform = "admin", "on call" = "operate", staff = "read" }
sources_claim = "hapax_sources"
"#;

fn environment() -> Environment {
    Environment::with([
        ("TOKEN", "token-hunter2"),
        ("CI_TOKEN", "token-of-ci-hunter2"),
        ("STATE_KEY", "state-key-hunter2-state-key-hunter2"),
        ("OTLP_TOKEN", "Bearer otlp-hunter2"),
        ("STRIPE_NEW", "whsec_hunter2"),
        ("STRIPE_OLD", "whsec_hunter3"),
        ("SIGNING", "whsec_aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg=="),
        ("DATABASE", "postgres://app:hunter2@db/app"),
        ("CHAT_URL", "https://chat.example.com/services/hunter2"),
        ("NOT_BASE64", "whsec_hunter2!"),
    ])
}

fn parsed(text: &str) -> Config {
    parse(text, Path::new("hapax.toml"), &environment(), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn lines(error: &ConfigError) -> Vec<String> {
    let ConfigError::Invalid { path, problems } = error else {
        panic!("{error}")
    };
    problems
        .iter()
        .map(|problem| problem::line(path, problem))
        .collect()
}

/// Every problem in a configuration, one line each.
pub(super) fn problems(text: &str) -> Vec<String> {
    match parse(text, Path::new("hapax.toml"), &environment(), &[]) {
        Ok(_) => Vec::new(),
        Err(error) => lines(&error),
    }
}

/// A source with these lines, and a destination `app` that it can use.
fn with_source(more: &str) -> String {
    format!(
        "[sources.stripe]\n{more}\n[destinations.app]\nkind = \"http\"\nurl = \"http://127.0.0.1:3000/\"\n"
    )
}
