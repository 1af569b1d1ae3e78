//! Reading: types, locations, unknown keys, defaults, and text that is not a configuration at all.

use std::collections::BTreeSet;
use std::time::Duration;

use hapax_core::OnDead;
use proptest::prelude::*;

use super::*;
use crate::keys::ALL;

#[test]
fn the_documented_file_is_understood() {
    let config = parsed(FULL);
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.server.body_limit, 5 << 20);
    assert_eq!(
        config.public_url_of("stripe"),
        "https://hooks.example.com/in/stripe"
    );
    let stripe = &config.sources["stripe"];
    assert_eq!(stripe.secrets.len(), 2);
    assert_eq!(stripe.ack_status, http::StatusCode::ACCEPTED);
    assert_eq!(stripe.rate_limit.unwrap().count, 500);
    assert_eq!(
        config.sources["inhouse"]
            .recipe
            .identity
            .event_id
            .fields()
            .count(),
        2
    );
    let billing = &config.destinations["billing"];
    assert_eq!(billing.id.as_str(), "billing-1");
    assert_eq!(billing.backoff.first, Duration::from_secs(2));
    assert_eq!(billing.on_dead, OnDead::Skip);
    assert!(billing.events.wants(Some("invoice.paid")));
    assert!(matches!(&config.destinations["script"].kind, Kind::Command(command) if command.argv.len() == 2));
    let Kind::Sql(ledger) = &config.destinations["ledger"].kind else {
        panic!("{:?}", config.destinations["ledger"]);
    };
    assert_eq!(ledger.url.to_string(), "postgres://db/app");
    assert_eq!(ledger.statements[0].names(), ["amount", "event", "order"]);
    assert_eq!(config.warning_lines(), Vec::<String>::new());
}

#[test]
fn what_is_not_written_has_its_default() {
    let config = parsed(&with_source(
        "provider = \"stripe\"\nsecrets = [\"env:STRIPE_NEW\"]\ndeliver_to = [\"app\"]",
    ));
    assert_eq!(config.server.admin_listen.to_string(), "127.0.0.1:8081");
    assert_eq!(config.server.keep_alive, Duration::from_secs(150));
    assert!(config.server.admin_token.is_none() && config.server.public_url.is_none());
    assert_eq!(config.store.url.to_string(), "sqlite:hapax.db");
    let source = &config.sources["stripe"];
    let days = |days: u64| Duration::from_secs(days * 86_400);
    assert_eq!(
        (
            source.ledger_window,
            source.payload_retention,
            source.dead_retention
        ),
        (days(30), days(14), days(30))
    );
    assert_eq!(source.scope.as_str(), "stripe");
    assert_eq!(source.ack_status, http::StatusCode::OK);
    let app = &config.destinations["app"];
    assert_eq!((app.timeout.as_secs(), app.lease.as_secs()), (10, 60));
    assert_eq!((app.concurrency, app.max_attempts), (32, 12));
    assert_eq!(
        (app.backoff.first.as_secs(), app.backoff.cap.as_secs()),
        (1, 3600)
    );
    assert_eq!((app.id.as_str(), app.on_dead), ("app", OnDead::Hold));
    assert_eq!(app.events, Events::All);
}

#[test]
fn an_empty_file_is_a_configuration_that_receives_nothing() {
    let config = parsed("");
    assert_eq!(
        config.warning_lines(),
        [
            "hapax.toml: sources: there are none, so nothing is received; `hapax init PROVIDER` shows an example"
        ]
    );
}

#[test]
fn unknown_keys_are_refused_with_their_place_and_the_nearest_known_one() {
    let text = "[server]\nlisen = \"127.0.0.1:1\"\n\n[sevrer]\n[store]\n  zebra = 1\n[destinations.app]\nkind = \"http\"\nurl = \"http://127.0.0.1/\"\nbackoff = { frist = \"1s\" }\n";
    assert_eq!(
        problems(text),
        [
            "hapax.toml:2:1: [server] has no key `lisen`; did you mean `listen`?",
            "hapax.toml:4:2: the top level has no key `sevrer`; did you mean `server`?",
            "hapax.toml:6:3: [store] has no key `zebra`",
            "hapax.toml:10:13: [destinations.app.backoff] has no key `frist`; did you mean `first`?",
        ]
    );
}

#[test]
fn wrong_types_are_refused_with_what_belongs_there() {
    let text = "store = 3\n[server]\nlisten = 8080\nbody_limit = 5.5\n[destinations]\nb = 1\n[destinations.app]\nkind = \"http\"\nurl = [1]\nconcurrency = \"32\"\nevents = \"all\"\nbackoff = true\ntimeout = 2026-01-01\n";
    assert_eq!(
        problems(text),
        [
            "hapax.toml:1:1: store: expected a table, found a whole number",
            "hapax.toml:3:1: server.listen: expected a string in quotes, found a whole number",
            "hapax.toml:4:1: server.body_limit: expected a string in quotes, found a decimal number",
            "hapax.toml:6:1: destinations.b: expected a table, found a whole number",
            "hapax.toml:9:1: destinations.app.url: expected a string in quotes, found an array",
            "hapax.toml:10:1: destinations.app.concurrency: expected a whole number from 1 to 1024, found a string",
            "hapax.toml:11:1: destinations.app.events: expected an array of strings, found a string",
            "hapax.toml:12:1: destinations.app.backoff: expected a table, found true or false",
            "hapax.toml:13:1: destinations.app.timeout: expected a string in quotes, found a date",
        ]
    );
}

#[test]
fn a_syntax_error_has_its_place_and_does_not_quote_the_line() {
    let found = problems("[sources.stripe]\nsecrets = [\"hunter2\"\nprovider = \"stripe\"\n");
    assert!(
        found[0].starts_with("hapax.toml:") && found[0].contains(": not TOML: "),
        "{found:?}"
    );
    assert!(!found.join("\n").contains("hunter2"), "{found:?}");
}

#[test]
fn names_that_do_not_fit_a_path_are_refused() {
    assert_eq!(
        problems("[destinations.\"Bad Name\"]\nkind = \"command\"\ncommand = [\"true\"]\n"),
        [
            "hapax.toml:1:15: [destinations] cannot have \"Bad Name\" as a name: a name has 1 to 64 lower-case letters, \
          digits, `-` and `_`, and begins with a letter or digit"
        ]
    );
}

#[test]
fn a_missing_file_says_what_to_do_and_an_oversized_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hapax.toml");
    let error = load(&path, &environment(), &[]).unwrap_err().to_string();
    assert!(
        error.ends_with("does not exist; `hapax init` creates it, and `--config FILE` uses another file"),
        "{error}"
    );
    std::fs::write(&path, "#".repeat(FILE_BYTES_MAX as usize + 1)).unwrap();
    let error = load(&path, &environment(), &[]).unwrap_err().to_string();
    assert!(
        error.ends_with("the file is larger than 1048576 bytes"),
        "{error}"
    );
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(
        load(&path, &environment(), &[]).unwrap_err(),
        ConfigError::Unreadable { .. }
    ));
}

#[test]
fn the_reader_asks_for_exactly_the_keys_of_the_table() {
    let environment = environment();
    let mut report = Report::new(FULL, &environment);
    read(FULL, Path::new("hapax.toml"), &[], &mut report);
    let asked = |header: &str| -> BTreeSet<String> {
        let of_table = report.asked.iter().filter(|(table, _)| *table == header);
        of_table.map(|(_, name)| name.clone()).collect()
    };
    // `verify` is read by the verifier, and compared with its keys elsewhere.
    for table in ALL
        .into_iter()
        .filter(|table| table.header != "[sources.NAME.verify]")
    {
        let known: BTreeSet<String> = table.names().map(str::to_owned).collect();
        assert_eq!(asked(table.header), known, "{}", table.header);
    }
    assert_eq!(ALL.len(), 17);
}

/// One table of each kind, with as little in it as possible.
const LEAST: &str = r#"
[sources.stripe]
provider = "stripe"
secrets = ["env:STRIPE_NEW"]

[destinations.http]
kind = "http"
url = "http://127.0.0.1:3000/"

[destinations.sql]
kind = "sql"
url = "env:DATABASE"
statements = ["select 1"]

[outbox.app]
url = "env:DATABASE"

[alerts.receivers.chat]
kind = "slack"
url = "env:CHAT_URL"

[traces]
endpoint = "http://127.0.0.1:4318"
"#;

fn header_of(path: &str) -> String {
    match path.split('.').collect::<Vec<_>>().as_slice() {
        [table @ ("sources" | "destinations" | "outbox"), _] => format!("[{table}.NAME]"),
        ["alerts", "receivers", _] => "[alerts.receivers.NAME]".to_owned(),
        _ => format!("[{path}]"),
    }
}

#[test]
fn what_is_shown_for_an_empty_table_is_the_declared_default() {
    let shown = parsed(LEAST).to_toml();
    assert!(shown.contains("\nconcurrency = 128 # default\n"), "{shown}");
    let mut compared = 0;
    for block in shown.split("\n\n") {
        let (path, lines) = block.split_once('\n').unwrap();
        let header = header_of(path.trim_matches(['[', ']']));
        let table = ALL.into_iter().find(|table| table.header == header).unwrap();
        for value in lines.lines().filter_map(|line| line.strip_suffix(" # default")) {
            let (name, _) = value.split_once(' ').unwrap();
            let key = table.keys.iter().find(|key| key.facts().name == name).unwrap();
            // The one is a table of its own, the other differs for `sql`.
            let is_special = name == "backoff" || (name, path) == ("concurrency", "[destinations.sql]");
            if let Some(declared) = key.default_line().filter(|_| !is_special) {
                assert_eq!(value, declared, "{path}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = problems(&text);
    }

    #[test]
    fn no_mangled_configuration_makes_the_reader_panic(
        line in 0..FULL.lines().count(),
        replacement in "(|[a-z_]{1,12}) ?(=|) ?(\"[^\"]{0,20}\"|-?[0-9]{1,30}|\\[.{0,9}\\]|\\{.{0,9}\\}|true|.{0,9})",
    ) {
        let mut lines: Vec<&str> = FULL.lines().collect();
        lines[line] = &replacement;
        let _ = problems(&lines.join("\n"));
    }
}
