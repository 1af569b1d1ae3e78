//! `[destinations.NAME]`.

use std::time::Duration;

use super::*;

fn http_with(more: &str) -> Vec<String> {
    problems(&format!(
        "[destinations.app]\nkind = \"http\"\nurl = \"http://127.0.0.1:3000/\"\n{more}\n"
    ))
}

fn url(url: &str) -> Vec<String> {
    problems(&format!("[destinations.app]\nkind = \"http\"\nurl = \"{url}\"\n"))
}

#[test]
fn the_kind_decides_which_keys_apply() {
    assert_eq!(
        http_with("command = [\"true\"]"),
        [
            "hapax.toml:4:1: destinations.app.command: does not apply to a destination of kind \"http\"; remove it"
        ]
    );
    assert_eq!(
        problems("[destinations.app]\nkind = \"command\"\n"),
        [
            "hapax.toml:1:15: destinations.app: `command` is missing; a command destination needs it, such as \
          [\"./on-event.sh\"]"
        ]
    );
    assert_eq!(
        problems("[destinations.app]\nkind = \"command\"\ncommand = []\n"),
        [
            "hapax.toml:3:1: destinations.app.command: expected a program and at most 255 arguments, such as \
          [\"./on-event.sh\"]"
        ]
    );
}

#[test]
fn the_idempotency_key_is_plain_or_quoted_and_only_in_a_header() {
    for form in ["plain", "quoted"] {
        assert!(http_with(&format!("idempotency_key = \"{form}\"")).is_empty());
    }
    assert_eq!(
        http_with("idempotency_key = \"quotd\""),
        [
            "hapax.toml:4:1: destinations.app.idempotency_key: \"quotd\" is not one of \"plain\", \"quoted\"; did you \
             mean `quoted`?"
        ]
    );
    assert_eq!(
        problems(
            "[destinations.app]\nkind = \"command\"\ncommand = [\"true\"]\nidempotency_key = \"quoted\"\n"
        ),
        [
            "hapax.toml:4:1: destinations.app.idempotency_key: does not apply to a destination of kind \"command\"; remove it"
        ]
    );
}

/// A sql destination that is valid except for these lines.
fn sql_with(lines: &str) -> Vec<String> {
    problems(&format!("[destinations.ledger]\nkind = \"sql\"\n{lines}\n"))
}

#[test]
fn a_sql_destination_needs_a_database_and_statements() {
    assert_eq!(
        sql_with(""),
        [
            "hapax.toml:1:15: destinations.ledger: `statements` is missing; a sql destination needs it, such as \
             [\"insert into payments (id) values (:event)\"]",
            "hapax.toml:1:15: destinations.ledger: `url` is missing; a sql destination needs it, such as \
             \"postgres://user@host/database\"",
        ]
    );
    for url in [
        "redis://:hunter2@cache",
        "mysql://app:hunter2@db/app",
        "app.db",
        "sqlite::memory:",
    ] {
        let found = sql_with(&format!("url = \"{url}\"\nstatements = [\"select 1\"]"));
        assert_eq!(
            found,
            [
                "hapax.toml:3:1: destinations.ledger.url: this is not a database: write \
                 \"postgres://user@host/database\" or \"sqlite:\" and a path, such as \"sqlite:app.db\""
            ],
            "{url}"
        );
    }
}

#[test]
fn the_names_in_statements_and_params_fit_each_other() {
    let found = sql_with(
        "url = \"sqlite:app.db\"\nparams = { order = \"body:/id\", 1x = \"body:/id\", bad = \"boddy:/id\" }\n\
         statements = [\"commit\", \"select :ordr\"]",
    );
    assert_eq!(
        found,
        [
            "hapax.toml:4:32: destinations.ledger.params.1x: a name has letters, digits and `_`, and does not begin \
             with a digit",
            "hapax.toml:4:49: destinations.ledger.params.bad: \"boddy:/id\" is not a location of an id or type: write \"header:NAME\", \
             \"body:/json/pointer\" or \"body-sha256\"; or one of body, event_id, event_type, source, id, \
             received_at, idempotency_key, generation",
            "hapax.toml:5:15: destinations.ledger.statements.0: `commit` is not allowed: all statements run in one \
             transaction, which Hapax begins and commits",
        ]
    );
    let found = sql_with(
        "url = \"sqlite:app.db\"\nparams = { order = \"body:/id\" }\nstatements = [\"select :ordr\"]",
    );
    assert_eq!(
        found,
        [
            "hapax.toml:4:12: destinations.ledger.params.order: no statement uses `:order`; use it, or remove it",
            "hapax.toml:5:15: destinations.ledger.statements.0: `:ordr` is not in `params`; did you mean `order`?",
        ]
    );
}

#[test]
fn an_inbox_is_not_in_the_store_and_remembers_longer_than_the_ledger() {
    let text = "[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw==\"]\n\
                deliver_to = [\"ledger\"]\n[destinations.ledger]\nkind = \"sql\"\nurl = \"sqlite:hapax.db\"\n\
                statements = [\"select 1\"]\ninbox_retention = \"20d\"\n";
    let found = problems(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("this is the store's own file"), "{found:?}");
    assert!(found[1].contains("the inbox would forget after 20d"), "{found:?}");
}

#[test]
fn an_inbox_outlives_a_late_replay() {
    let source = "[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw==\"]\n\
                  ledger_window = \"40d\"\ndeliver_to = [\"ledger\"]\n";
    let outbox = "[outbox.shop]\nurl = \"sqlite:shop.db\"\n";
    let destination =
        "[destinations.ledger]\nkind = \"sql\"\nurl = \"sqlite:app.db\"\nstatements = [\"select 1\"]\n";
    for (feeding, short, enough) in [(source, "40d", "41d"), (outbox, "30d", "31d")] {
        let with = |retention| {
            problems(&format!(
                "{feeding}{destination}inbox_retention = \"{retention}\"\n"
            ))
        };
        let found = with(short);
        assert_eq!(found.len(), 1, "{found:?}");
        let expected = format!("destinations.ledger.inbox_retention: the inbox would forget after {short}");
        assert!(found[0].contains(&expected), "{found:?}");
        assert!(
            found[0].ends_with(&format!("set it to at least {enough}")),
            "{found:?}"
        );
        assert!(with(enough).is_empty(), "{:?}", with(enough));
    }
}

#[test]
fn metadata_and_link_local_addresses_are_refused() {
    assert_eq!(
        url("http://169.254.169.254/latest"),
        [
            "hapax.toml:3:1: destinations.app.url: nothing is delivered to 169.254.169.254: it is link-local, where cloud \
          machines serve their credentials (169.254.0.0/16)"
        ]
    );
    for address in [
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]:80/",
        "http://0.0.0.0/",
        "http://[fd00:ec2::254]/",
    ] {
        assert_eq!(url(address).len(), 1, "{address}");
    }
    for address in [
        "http://127.0.0.1:3000/a?b=c",
        "https://example.com",
        "http://[::1]:3000/",
        "http://10.0.0.1/",
    ] {
        assert!(url(address).is_empty(), "{address}");
    }
}

#[test]
fn urls_are_http_and_hold_no_password() {
    let found = url("http://app:hunter2@127.0.0.1/");
    assert_eq!(
        found,
        [
            "hapax.toml:3:1: destinations.app.url: a user name or password in the URL is not sent; remove it, and set `secret` \
          to sign requests"
        ]
    );
    for address in [
        "ftp://a/",
        "127.0.0.1:3000",
        "/path",
        "http://",
        "http://a/#b",
        "",
        "http://a b/",
    ] {
        assert_eq!(url(address).len(), 1, "{address}");
    }
}

#[test]
fn an_attempt_ends_before_its_lease_does() {
    assert_eq!(
        http_with("timeout = \"60s\""),
        [
            "hapax.toml:4:1: destinations.app.timeout: an attempt may take 1m, but its lease lasts only 1m: another \
             worker would take over the delivery during the attempt; set `timeout` to less than `lease`"
        ]
    );
    assert_eq!(http_with("lease = \"5s\"").len(), 1);
    assert!(http_with("timeout = \"59s\"").is_empty());
}

#[test]
fn numbers_and_durations_have_limits() {
    assert_eq!(
        http_with(
            "concurrency = 0\nmax_attempts = 101\ntimeout = \"1ms\"\nbackoff = { first = \"2h\", cap = \"1h\" }"
        ),
        [
            "hapax.toml:4:1: destinations.app.concurrency: 0 is not between 1 and 1024",
            "hapax.toml:5:1: destinations.app.max_attempts: 101 is not between 1 and 100",
            "hapax.toml:6:1: destinations.app.timeout: \"1ms\" is not between 10ms and 1h",
            "hapax.toml:7:13: destinations.app.backoff.first: is longer than `cap`, which is 1h",
        ]
    );
}

#[test]
fn order_needs_a_place_and_on_dead_needs_order() {
    assert_eq!(
        http_with("on_dead = \"skip\""),
        [
            "hapax.toml:4:1: destinations.app.on_dead: has no effect without `order_by`; remove it, or set `order_by`"
        ]
    );
    assert_eq!(
        http_with("order_by = \"body-sha256\""),
        [
            "hapax.toml:4:1: destinations.app.order_by: it cannot order events; write \"body:/json/pointer\" or \
          \"header:NAME\""
        ]
    );
    assert!(http_with("order_by = \"header:x-tenant\"\non_dead = \"skip\"").is_empty());
}

#[test]
fn event_patterns_are_not_empty() {
    assert_eq!(
        http_with("events = []"),
        [
            "hapax.toml:4:1: destinations.app.events: an empty list matches no event; remove it to deliver all events"
        ]
    );
    assert_eq!(
        http_with("events = [\"a\", \"\"]"),
        [
            "hapax.toml:4:16: destinations.app.events.1: a pattern must have 1 to 255 bytes, such as \"invoice.*\""
        ]
    );
}

#[test]
fn an_outbox_has_defaults_and_needs_a_database() {
    let config = parsed("[outbox.app]\nurl = \"sqlite:app.db\"\n");
    let outbox = &config.outboxes["app"];
    assert_eq!(outbox.url, SqlUrl::Sqlite("app.db".into()));
    assert_eq!((outbox.poll, outbox.batch), (Duration::from_secs(1), 100));
    assert!(outbox.lease() > outbox.timeout);
    for (text, problem) in [
        ("", "url"),
        ("url = \"redis://x\"", "this is not a database"),
        ("url = \"sqlite:a.db\"\non_dead = \"wait\"", "not one of"),
        (
            "url = \"sqlite:a.db\"\nsecret = \"env:NOT_BASE64\"",
            "Standard Webhooks",
        ),
        ("url = \"sqlite:a.db\"\npolling = \"1s\"", "poll"),
    ] {
        let found = problems(&format!("[outbox.app]\n{text}\n")).join("\n");
        assert!(found.contains(problem) && !found.contains("hunter2"), "{found}");
    }
}
