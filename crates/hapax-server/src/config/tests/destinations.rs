//! `[destinations.NAME]`.

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
        problems("[destinations.app]\nurl = \"http://127.0.0.1/\"\n"),
        ["hapax.toml:1:15: destinations.app: `kind` is missing; write kind = \"http\" or kind = \"command\""]
    );
    assert_eq!(
        problems("[destinations.app]\nkind = \"htpp\"\n"),
        [
            "hapax.toml:2:1: destinations.app.kind: \"htpp\" is not one of \"http\", \"command\", \"sql\"; did you mean `http`?"
        ]
    );
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
fn sql_destinations_are_known_and_refused() {
    let text = "[destinations.ledger]\nkind = \"sql\"\nurl = \"postgres://localhost/app\"\nparams = { order = \"body:/id\" }\nstatements = [\"select 1\"]\n";
    assert_eq!(
        problems(text),
        [
            "hapax.toml:2:1: destinations.ledger.kind: sql destinations are not supported by this build; use \"http\" or \
          \"command\""
        ]
    );
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
            "hapax.toml:4:1: destinations.app.timeout: an attempt may take 1m, but its lease lasts only 1m: another worker would \
          take the delivery over in the middle; make `timeout` less than `lease`"
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
            "hapax.toml:4:1: destinations.app.on_dead: has no meaning without `order_by`; remove it, or set `order_by`"
        ]
    );
    assert_eq!(
        http_with("order_by = \"body-sha256\""),
        [
            "hapax.toml:4:1: destinations.app.order_by: \"body-sha256\" orders nothing; write \"body:/json/pointer\" or \
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
            "hapax.toml:4:1: destinations.app.events: an empty list wants nothing; remove it to want all events"
        ]
    );
    assert_eq!(
        http_with("events = [\"a\", \"\"]"),
        ["hapax.toml:4:16: destinations.app.events.1: a pattern has 1 to 255 bytes, such as \"invoice.*\""]
    );
}
