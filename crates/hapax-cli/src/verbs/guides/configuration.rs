//! Every `hapax.toml` of a guide, completed with what it leaves out.
//!
//! A remark above a snippet says where it belongs: `<!-- in [sources.NAME] -->`, or `<!-- each line in [sources.NAME] -->`
//! where the lines are alternatives.

use std::path::Path;

use hapax_config::Environment;
use hapax_verify::catalogue;
use hapax_verify::sign::generate_secret;
use toml::{Table, Value};

use super::{Snippet, snippets};

/// P-256, as `secrets` takes it on one line.
const PUBLIC_KEY: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEm50Q81PCirhTxrRT9q4gURIhXeto\
                          R0lr7Di8rhjdA5Rc1T61B8vK/1gyYFGPAoZJno8rQ6+GiwQKy3wOlbmUIQ==";

/// The files that a snippet describes.
fn files(snippet: &Snippet) -> Vec<String> {
    let remark = snippet.remark.trim_start_matches("<!-- ");
    let remark = remark.trim_end_matches(" -->");
    if let Some(header) = remark.strip_prefix("each line in ") {
        let lines = snippet.text.lines();
        return lines.map(|line| format!("{header}\n{line}")).collect();
    }
    let header = remark.strip_prefix("in ").unwrap_or_default();
    vec![format!("{header}\n{}", snippet.text)]
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// The table of this name, made where it is missing.
fn table<'a>(within: &'a mut Table, name: &str) -> &'a mut Table {
    let entry = within.entry(name).or_insert_with(|| Table::new().into());
    entry.as_table_mut().unwrap()
}

fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.entry(key).or_insert_with(|| value.into());
}

/// Adds what a snippet leaves out: how a source is verified, and what is named only.
fn complete(file: &mut Table) {
    let server = table(file, "server");
    if server.contains_key("oidc") {
        put(server, "admin_token", "env:ADMIN_TOKEN");
        let oidc = table(server, "oidc");
        put(oidc, "issuer", "https://login.example.com");
        put(oidc, "client_id", "hapax");
        put(oidc, "dashboard_url", "https://hapax.example.com");
    }
    let tokens = server.get("tokens").and_then(Value::as_array).cloned();
    let tokens = tokens.iter().flatten();
    for source in tokens.flat_map(|token| texts(token.get("sources"))) {
        table(table(file, "sources"), &source);
    }
    let mut named = Vec::new();
    let mut needs_redis = false;
    for (name, source) in table(file, "sources") {
        let source = source.as_table_mut().unwrap();
        let is_verified = source.contains_key("provider") || source.contains_key("verify");
        match catalogue::get(name) {
            _ if is_verified => {}
            Some(_) => put(source, "provider", name.clone()),
            None => put(
                source,
                "verify",
                toml::toml! { scheme = "token" header = "x-token" },
            ),
        }
        if source.contains_key("verify") {
            put(source, "event_id", "header:x-event-id");
        }
        put(source, "secrets", vec!["env:SECRET"]);
        named.extend(texts(source.get("deliver_to")));
        needs_redis |= source.contains_key("redis");
    }
    for name in named {
        let destination = table(table(file, "destinations"), &name);
        if destination.is_empty() {
            put(destination, "kind", "http");
            put(destination, "url", "http://127.0.0.1:3000/");
        }
    }
    for destination in table(file, "destinations").iter_mut().map(|(_, value)| value) {
        let destination = destination.as_table_mut().unwrap();
        if let Some(params) = destination.get("params").and_then(Value::as_table) {
            let params: Vec<String> = params.keys().map(|name| format!(":{name}")).collect();
            put(destination, "kind", "sql");
            put(destination, "url", "env:URL");
            put(
                destination,
                "statements",
                vec![format!("select {}", params.join(", "))],
            );
        }
    }
    if needs_redis {
        put(table(file, "store"), "url", "redis://127.0.0.1:6379/0");
    }
}

/// Puts something that fits in the place of each secret that comes from elsewhere; where nothing special is needed, a
/// long text of its own.
fn reveal(value: &mut Value, fitting: &str) {
    match value {
        Value::String(text)
            if ["env:", "file:", "exec:"]
                .iter()
                .any(|from| text.starts_with(from)) =>
        {
            *text = if fitting.is_empty() {
                format!("{text:0>64}")
            } else {
                fitting.to_owned()
            };
        }
        Value::Array(list) => list.iter_mut().for_each(|value| reveal(value, fitting)),
        Value::Table(table) => reveal_in(table, fitting),
        _ => {}
    }
}

fn reveal_in(table: &mut Table, fitting: &str) {
    let of_source = secret_of(table);
    for (key, value) in table {
        let fitting = match key.as_str() {
            "secrets" => of_source.as_str(),
            "store" | "outbox" | "destinations" => "postgres://app@db.internal/app",
            "receivers" => "https://chat.example.com/hook",
            "secret" => "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
            "encryption_keys" => "",
            _ => fitting,
        };
        reveal(value, fitting);
    }
}

/// What `secrets` of a source holds.
fn secret_of(source: &Table) -> String {
    let word = |table: &Table, key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(provider) = word(source, "provider").as_deref().and_then(catalogue::get) {
        return generate_secret(provider, &[7; 32]).verifying;
    }
    let verify = source
        .get("verify")
        .and_then(Value::as_table)
        .cloned()
        .unwrap_or_default();
    match (
        word(&verify, "scheme").as_deref(),
        word(&verify, "algorithm").as_deref(),
    ) {
        (Some("ecdsa-p256"), _) | (_, Some("ES256")) => PUBLIC_KEY.to_owned(),
        (Some("basic"), _) => "user:password".to_owned(),
        _ => String::new(),
    }
}

#[test]
fn every_configuration_of_a_guide_is_accepted() {
    let mut checked = 0;
    for snippet in snippets(&["toml"]) {
        for text in files(&snippet) {
            let mut file: Table = text
                .parse()
                .unwrap_or_else(|error| panic!("{}: {error}", snippet.place));
            complete(&mut file);
            reveal_in(&mut file, "");
            let whole = toml::to_string(&file).unwrap();
            if let Err(error) =
                hapax_config::parse(&whole, Path::new("hapax.toml"), &Environment::with([]), &[])
            {
                panic!("{}: {error:?}\n{whole}", snippet.place);
            }
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}
