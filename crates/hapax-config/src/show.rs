//! The effective configuration, for people and programs: every value and its origin. Secrets are shown as `***`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use hapax_verify::{OptionKind, OptionSpec, OptionValue};
use toml::Value;

use super::http_url::shown_url;
use super::{
    Ack, Config, Destination, Events, Kind, Network, Oidc, Outbox, Receiver, ReceiverKind, Source, Sql,
    Statement, Tls, Token, Traces,
};
use hapax_api::alert::{Rule, Unit};
use hapax_api::duration::format_duration;
use hapax_api::size::format_size;

/// Shown in place of a secret.
const HIDDEN: &str = "***";
/// Keys whose values may contain credentials that are not marked as secret. They are not shown on the admin port.
const LOCAL_KEYS: [&str; 2] = ["command", "url"];

struct Shown {
    path: String,
    values: Vec<(&'static str, Value)>,
}

impl Config {
    /// The effective values as TOML, each with its origin in a comment.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for section in self.sections() {
            if !text.is_empty() {
                text.push('\n');
            }
            let _ = writeln!(text, "[{}]", section.path);
            text.push_str(&self.lines(&section));
        }
        text
    }

    /// The effective values of each section, for the admin port, without those that may contain credentials.
    pub fn to_sections(&self) -> BTreeMap<String, String> {
        let sections = self.sections().into_iter().map(|mut section| {
            section.values.retain(|(key, _)| !LOCAL_KEYS.contains(key));
            (section.path.clone(), self.lines(&section))
        });
        sections.collect()
    }

    fn lines(&self, section: &Shown) -> String {
        let mut text = String::new();
        for (key, value) in &section.values {
            let origin = self.origins.place(&format!("{}.{key}", section.path));
            let _ = writeln!(text, "{key} = {value} # {origin}");
        }
        text
    }

    /// The effective values as JSON, in the structure of the file.
    pub fn to_json(&self) -> serde_json::Value {
        let mut root = serde_json::json!({
            "server": {}, "store": {}, "sources": {}, "destinations": {}, "outbox": {}, "alerts": {}
        });
        for section in self.sections() {
            let mut at = &mut root;
            for step in section.path.split('.') {
                at = &mut at[step];
            }
            *at = serde_json::json!({});
            for (key, value) in section.values {
                at[key] = serde_json::json!(value);
            }
        }
        root
    }

    fn sections(&self) -> Vec<Shown> {
        let mut sections = vec![self.server_values()];
        sections.push(Shown {
            path: "server.limits".to_owned(),
            values: self.server.limits.shown(),
        });
        sections.extend(self.server.oidc.iter().map(|oidc| self.oidc_values(oidc)));
        sections.push(Shown {
            path: "store".to_owned(),
            values: self.store_values(),
        });
        sections.extend(
            self.sources
                .iter()
                .map(|(name, source)| self.source_values(name, source)),
        );
        let destinations = self.destinations.iter();
        sections.extend(destinations.map(|(name, destination)| self.destination_values(name, destination)));
        sections.extend(self.outboxes.values().map(|outbox| self.outbox_values(outbox)));
        sections.push(self.alert_values());
        let receivers = self.alerts.receivers.iter();
        sections.extend(receivers.map(|(name, receiver)| self.receiver_values(name, receiver)));
        sections.extend(self.traces.iter().map(|traces| self.traces_values(traces)));
        sections
    }

    fn store_values(&self) -> Vec<(&'static str, Value)> {
        let mut values = vec![("url", self.store.url.to_string().into())];
        if let Some(encryption) = &self.store.encryption {
            let plain = encryption.writes_plain().then(|| Value::from("plain"));
            let behind = usize::from(plain.is_some());
            let keys = (0..encryption.key_count())
                .map(|index| self.hidden(&format!("store.encryption_keys.{}", index + behind)));
            values.push((
                "encryption_keys",
                Value::Array(plain.into_iter().chain(keys).collect()),
            ));
        }
        values
    }

    fn server_values(&self) -> Shown {
        let server = &self.server;
        let mut values: Vec<(&'static str, Value)> = vec![
            ("listen", server.listen.to_string().into()),
            ("admin_listen", server.admin_listen.to_string().into()),
        ];
        if server.admin_token.is_some() {
            values.push(("admin_token", self.hidden("server.admin_token")));
        }
        if !server.tokens.is_empty() {
            let tokens = server.tokens.iter().enumerate();
            let tokens = tokens.map(|(index, token)| self.token_values(index, token));
            values.push(("tokens", Value::Array(tokens.collect())));
        }
        values.push(("body_limit", format_size(server.body_limit).into()));
        values.push(("keep_alive", format_duration(server.keep_alive).into()));
        if let Some(url) = &server.public_url {
            values.push(("public_url", url.clone().into()));
        }
        values.push(("secret_refresh", format_duration(server.secret_refresh).into()));
        if let Some(server) = &server.key_server {
            values.push(("key_server", server.as_str().into()));
        }
        if let Some(tls) = &server.tls {
            values.push(("tls", tls_value(tls)));
        }
        if server.admin_tls != server.tls {
            let off = Value::Boolean(false);
            values.push(("admin_tls", server.admin_tls.as_ref().map_or(off, tls_value)));
        }
        if !server.trusted_proxies.is_empty() {
            let networks: Vec<String> = server.trusted_proxies.iter().map(Network::to_string).collect();
            values.push(("trusted_proxies", networks.into()));
        }
        Shown {
            path: "server".to_owned(),
            values,
        }
    }

    fn token_values(&self, index: usize, token: &Token) -> Value {
        let mut values = toml::Table::new();
        values.insert("name".to_owned(), token.name.clone().into());
        values.insert(
            "token".to_owned(),
            self.hidden(&format!("server.tokens.{index}.token")),
        );
        values.insert("role".to_owned(), token.role.as_str().into());
        if let Some(sources) = &token.sources {
            let names = sources.iter().map(|name| name.as_str().into());
            values.insert("sources".to_owned(), Value::Array(names.collect()));
        }
        Value::Table(values)
    }

    fn oidc_values(&self, oidc: &Oidc) -> Shown {
        let path = "server.oidc".to_owned();
        let mut values = oidc.shown();
        if oidc.client_secret.is_some() {
            values.push(("client_secret", self.hidden(&format!("{path}.client_secret"))));
        }
        Shown { path, values }
    }

    fn source_values(&self, name: &str, source: &Source) -> Shown {
        let path = format!("sources.{name}");
        let mut values: Vec<(&'static str, Value)> = Vec::new();
        values.extend(
            source
                .provider
                .map(|provider| ("provider", provider.name.clone().into())),
        );
        values.extend(source.verify.clone().map(|verify| ("verify", verify)));
        let secrets = (0..source.secrets.len()).map(|index| self.hidden(&format!("{path}.secrets.{index}")));
        values.push(("secrets", Value::Array(secrets.collect())));
        let options = self.option_values(&path, source);
        if !options.is_empty() {
            values.push(("options", options.into()));
        }
        if let Some(url) = &source.public_url {
            values.push(("public_url", url.clone().into()));
        }
        if let Some(allowed) = &source.allow_from {
            values.push(("allow_from", allowed.written.clone().into()));
        }
        values.push(("body_limit", format_size(source.body_limit).into()));
        values.push(("deliver_to", source.deliver_to.clone().into()));
        values.push(("event_id", id_rule(&source.recipe.identity.event_id)));
        if let Some(event_type) = &source.recipe.identity.event_type {
            values.push(("event_type", fields(event_type)));
        }
        values.push(("on_conflict", source.recipe.identity.on_conflict.as_str().into()));
        values.push(("same_body", source.same_body.as_str().into()));
        values.push(("scope", source.scope.as_str().into()));
        values.push(("ledger_window", format_duration(source.ledger_window).into()));
        values.push((
            "payload_retention",
            format_duration(source.payload_retention).into(),
        ));
        values.push(("dead_retention", format_duration(source.dead_retention).into()));
        match source.ack {
            Ack::Stored => values.push(("ack", "stored".into())),
            Ack::Processed { limit } => {
                values.push(("ack", "processed".into()));
                values.push(("ack_timeout", format_duration(limit).into()));
            }
        }
        values.push(("ack_status", i64::from(source.ack_status.as_u16()).into()));
        if let Some(rate) = source.rate_limit {
            values.push(("rate_limit", rate.to_string().into()));
        }
        if !source.indexed.is_empty() {
            values.push(("indexed", source.indexed.clone().into()));
        }
        let redact: Vec<String> = source.redact.fields().map(str::to_owned).collect();
        if !redact.is_empty() {
            values.push(("redact", redact.into()));
        }
        if source.redis_wait > 0 {
            let wait = ("wait".to_owned(), i64::from(source.redis_wait).into());
            values.push(("redis", Value::Table(toml::Table::from_iter([wait]))));
        }
        Shown { path, values }
    }

    fn option_values(&self, path: &str, source: &Source) -> toml::Table {
        let specs = source.provider.map_or(&[][..], |provider| &provider.options);
        let shown = |spec: &OptionSpec| {
            let value = match (spec.kind, source.options.get(&spec.name)?) {
                (OptionKind::Secret | OptionKind::Table, _) => {
                    self.hidden(&format!("{path}.options.{}", spec.name))
                }
                (_, OptionValue::Text(text)) => text.clone().into(),
                (_, OptionValue::List(list)) => list.clone().into(),
                (_, OptionValue::Table(table)) => {
                    let texts = table
                        .iter()
                        .map(|(name, text)| (name.clone(), text.clone().into()));
                    Value::Table(texts.collect())
                }
            };
            Some((spec.name.clone(), value))
        };
        specs.iter().filter_map(shown).collect()
    }

    fn destination_values(&self, name: &str, destination: &Destination) -> Shown {
        let path = format!("destinations.{name}");
        let mut values: Vec<(&'static str, Value)> = Vec::new();
        match &destination.kind {
            Kind::Http {
                url,
                secret,
                key_form,
            } => {
                values.push(("kind", "http".into()));
                values.push(("url", shown_url(url).into()));
                if secret.is_some() {
                    values.push(("secret", self.hidden(&format!("{path}.secret"))));
                }
                values.push(("idempotency_key", key_form.as_str().into()));
            }
            Kind::Command { argv, env } => {
                values.push(("kind", "command".into()));
                values.push(("command", argv.clone().into()));
                values.push(("env", env.names().to_vec().into()));
            }
            Kind::Sql(sql) => values.extend(sql_values(sql)),
        }
        if let Events::Matching(patterns) = &destination.events {
            let patterns: Vec<String> = patterns
                .iter()
                .map(|pattern| pattern.as_str().to_owned())
                .collect();
            values.push(("events", patterns.into()));
        }
        values.push(("timeout", format_duration(destination.timeout).into()));
        values.push(("concurrency", i64::from(destination.concurrency).into()));
        if let Some(rate) = destination.rate_limit {
            values.push(("rate_limit", rate.to_string().into()));
        }
        values.push(("max_attempts", i64::from(destination.max_attempts).into()));
        values.push(("backoff", backoff(destination.backoff)));
        if let Some(field) = &destination.order_by {
            values.push(("order_by", field.to_string().into()));
            values.push(("on_dead", on_dead(destination.on_dead).into()));
        }
        values.push(("lease", format_duration(destination.lease).into()));
        values.push(("id", destination.id.as_str().into()));
        Shown { path, values }
    }

    fn outbox_values(&self, outbox: &Outbox) -> Shown {
        let path = format!("outbox.{}", outbox.name);
        let mut values: Vec<(&'static str, Value)> = vec![
            ("url", outbox.url.to_string().into()),
            ("poll", format_duration(outbox.poll).into()),
            ("retention", format_duration(outbox.retention).into()),
            ("batch", i64::from(outbox.batch).into()),
            ("allow_targets", outbox.allow_targets.as_written().into()),
            ("timeout", format_duration(outbox.timeout).into()),
        ];
        if outbox.secret.is_some() {
            values.push(("secret", self.hidden(&format!("{path}.secret"))));
        }
        values.push(("idempotency_key", outbox.key_form.as_str().into()));
        values.push(("concurrency", i64::from(outbox.concurrency).into()));
        values.push(("max_attempts", i64::from(outbox.max_attempts).into()));
        values.push(("backoff", backoff(outbox.backoff)));
        values.push(("on_dead", on_dead(outbox.on_dead).into()));
        Shown { path, values }
    }

    fn alert_values(&self) -> Shown {
        let rules = Rule::ALL.into_iter();
        let mut values: Vec<(&'static str, Value)> = rules
            .map(|rule| (rule.as_str(), limit(rule, self.alerts.limits.get(&rule).copied())))
            .collect();
        values.push(("resolve_after", format_duration(self.alerts.resolve_after).into()));
        Shown {
            path: "alerts".to_owned(),
            values,
        }
    }

    fn receiver_values(&self, name: &str, receiver: &Receiver) -> Shown {
        let path = format!("alerts.receivers.{name}");
        let mut values: Vec<(&'static str, Value)> = vec![("kind", receiver.kind.as_str().into())];
        match &receiver.kind {
            ReceiverKind::Slack { .. } | ReceiverKind::Webhook { secret: None, .. } => {
                values.push(("url", self.hidden(&format!("{path}.url"))));
            }
            ReceiverKind::Webhook { secret: Some(_), .. } => {
                values.push(("url", self.hidden(&format!("{path}.url"))));
                values.push(("secret", self.hidden(&format!("{path}.secret"))));
            }
            ReceiverKind::Command { argv, env } => {
                values.push(("command", argv.clone().into()));
                values.push(("env", env.names().to_vec().into()));
            }
        }
        values.push(("timeout", format_duration(receiver.timeout).into()));
        Shown { path, values }
    }

    fn traces_values(&self, traces: &Traces) -> Shown {
        let headers = traces.headers.iter().map(|(name, _)| {
            let hidden = self.hidden(&format!("traces.headers.{name}"));
            (name.to_string(), hidden)
        });
        Shown {
            path: "traces".to_owned(),
            values: vec![
                ("endpoint", traces.endpoint.to_string().into()),
                ("headers", Value::Table(headers.collect())),
                ("sample", traces.sample.into()),
                ("service_name", traces.service_name.clone().into()),
                ("timeout", format_duration(traces.timeout).into()),
            ],
        }
    }

    /// `*** (env:NAME)`.
    fn hidden(&self, path: &str) -> Value {
        let origin = self.origins.secret(path);
        origin.map_or_else(|| HIDDEN.into(), |origin| format!("{HIDDEN} ({origin})").into())
    }
}

fn limit(rule: Rule, limit: Option<f64>) -> Value {
    let Some(limit) = limit else {
        return Value::Boolean(false);
    };
    match rule.unit() {
        Unit::Share => limit.into(),
        Unit::Count => (limit as i64).into(),
        Unit::Seconds => format_duration(Duration::from_secs_f64(limit)).into(),
    }
}

fn backoff(backoff: hapax_core::Backoff) -> Value {
    let mut table = toml::Table::new();
    table.insert("first".to_owned(), format_duration(backoff.first).into());
    table.insert("cap".to_owned(), format_duration(backoff.cap).into());
    table.into()
}

const fn on_dead(on_dead: hapax_core::OnDead) -> &'static str {
    match on_dead {
        hapax_core::OnDead::Hold => "hold",
        hapax_core::OnDead::Skip => "skip",
    }
}

fn sql_values(sql: &Sql) -> Vec<(&'static str, Value)> {
    let params: toml::Table = sql
        .params
        .iter()
        .map(|(name, param)| (name.clone(), param.as_written().into()))
        .collect();
    let statements: Vec<String> = sql.statements.iter().map(Statement::as_written).collect();
    vec![
        ("kind", "sql".into()),
        ("url", sql.url.to_string().into()),
        ("statements", statements.into()),
        ("params", params.into()),
        ("connections", i64::from(sql.connections).into()),
        ("inbox_retention", format_duration(sql.inbox_retention).into()),
    ]
}

fn tls_value(tls: &Tls) -> Value {
    let files = [
        ("cert", Some(&tls.cert)),
        ("key", Some(&tls.key)),
        ("client_ca", tls.client_ca.as_ref()),
    ];
    let shown = files
        .into_iter()
        .filter_map(|(name, file)| Some((name.to_owned(), file?.display().to_string().into())));
    Value::Table(shown.collect())
}

fn id_rule(rule: &hapax_verify::IdRule) -> Value {
    let mut ways: Vec<Value> = rule.composites().iter().map(fields).collect();
    ways.extend(rule.allows_none().then(|| Value::from("none")));
    match ways.as_slice() {
        [only] => only.clone(),
        _ => Value::Array(ways),
    }
}

fn fields(list: &hapax_verify::FieldList) -> Value {
    let fields: Vec<String> = list.fields().iter().map(ToString::to_string).collect();
    match fields.as_slice() {
        [field] => field.clone().into(),
        _ => fields.into(),
    }
}
