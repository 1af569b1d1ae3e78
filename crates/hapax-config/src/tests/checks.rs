//! Checks on the listeners, the store, and settings that span several tables.

use super::*;

#[test]
fn an_admin_listener_that_others_reach_needs_a_token() {
    let open = "[server]\nadmin_listen = \"0.0.0.0:8081\"\n";
    assert_eq!(
        problems(open),
        [
            "hapax.toml:2:1: server.admin_listen: 0.0.0.0:8081 can be reached from other machines, and there is no \
          `admin_token`; set one, such as \"env:HAPAX_ADMIN_TOKEN\", or listen on 127.0.0.1"
        ]
    );
    assert!(problems(&format!("{open}admin_token = \"0123456789abcdef\"\n")).is_empty());
    assert!(problems("[server]\nadmin_listen = \"[::1]:8081\"\n").is_empty());
}

#[test]
fn a_token_that_can_be_guessed_is_refused_where_others_can_try() {
    let short = "[server]\nadmin_token = \"0123456789abcde\"\nadmin_listen = ";
    let found = problems(&format!("{short}\"0.0.0.0:8081\"\n"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("server.admin_token: 0.0.0.0:8081 can be reached"),
        "{found:?}"
    );
    assert!(
        !found[0].contains("0123456789abcde"),
        "a secret is never shown: {found:?}"
    );
    assert!(problems(&format!("{short}\"127.0.0.1:8081\"\n")).is_empty());
}

#[test]
fn tokens_have_names_and_values_of_their_own_and_stand_beside_an_admin_token() {
    let admin = "[server]\nadmin_token = \"0123456789abcdef\"\n";
    let token = |name: &str, value: &str, more: &str| {
        format!("[[server.tokens]]\nname = \"{name}\"\ntoken = \"{value}\"\nrole = \"read\"\n{more}")
    };
    let good = token("ci", "fedcba9876543210", "sources = [\"stripe\"]\n");
    assert!(
        problems(&format!(
            "{admin}{good}{}",
            token("two", "another-0123456789", "")
        ))
        .is_empty()
    );
    for (tokens, problem) in [
        (
            token("ci", "0123456789abcdef", ""),
            "another token has the same value",
        ),
        (token("ci", "short", ""), "can be guessed"),
        (
            token("ci", "env:NOPE", ""),
            "the environment variable NOPE is not set",
        ),
        (
            token("admin", "fedcba9876543210", ""),
            "another token already has this name",
        ),
        (
            token("local", "fedcba9876543210", ""),
            "another token already has this name",
        ),
        (
            format!("{good}{}", token("ci", "another-0123456789", "")),
            "another token already has this name",
        ),
        (token("Ci", "fedcba9876543210", ""), "cannot be used"),
        (
            token("ci", "fedcba9876543210", "sources = []\n"),
            "the list is empty",
        ),
        (
            "[[server.tokens]]\nname = \"ci\"\ntoken = \"fedcba9876543210\"\n".to_owned(),
            "`role` is missing",
        ),
        (good.replace("\"read\"", "\"reed\""), "did you mean"),
        (
            "tokens = \"fedcba9876543210\"\n".to_owned(),
            "expected an array of tables",
        ),
    ] {
        let found = problems(&format!("{admin}{tokens}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("server.tokens") && found[0].contains(problem),
            "{found:?}"
        );
    }
    let alone = problems(&format!("[server]\n{good}"));
    assert!(alone[0].contains("without `admin_token`"), "{alone:?}");
    let config = parsed(&format!("{admin}{good}"));
    let shown = config.to_toml();
    assert!(!format!("{config:?}{shown}").contains("fedcba"), "{shown}");
    assert!(
        shown.contains("name = \"ci\"") && shown.contains("sources = [\"stripe\"]"),
        "{shown}"
    );
}

#[test]
fn the_two_listeners_cannot_share_a_socket() {
    for (listen, admin) in [
        ("127.0.0.1:8081", "127.0.0.1:8081"),
        ("0.0.0.0:8081", "127.0.0.1:8081"),
        ("[::]:8081", "127.0.0.1:8081"),
    ] {
        let found = problems(&format!(
            "[server]\nlisten = \"{listen}\"\nadmin_listen = \"{admin}\"\n"
        ));
        assert_eq!(
            found,
            [format!(
                "hapax.toml:3:1: server.admin_listen: {admin} is where `listen` receives webhooks ({listen}); use \
                 another port"
            )]
        );
    }
    assert!(problems("[server]\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\n").is_empty());
}

#[test]
fn the_server_has_limits_and_a_public_url_is_plain() {
    let text = "[server]\nlisten = \"localhost:8080\"\nbody_limit = \"1GiB\"\nkeep_alive = \"2h\"\npublic_url = \"https://user@hooks.example.com\"\n";
    assert_eq!(
        problems(text),
        [
            "hapax.toml:2:1: server.listen: \"localhost:8080\" is not an address: write IP and port, such as \
             \"127.0.0.1:8080\" or \"0.0.0.0:8080\"",
            "hapax.toml:3:1: server.body_limit: \"1GiB\" is not between 1KiB and 64MiB",
            "hapax.toml:4:1: server.keep_alive: \"2h\" is not between 30s and 1h",
            "hapax.toml:5:1: server.public_url: a public URL has no query, fragment or user name; write it like \
             \"https://hooks.example.com\"",
        ]
    );
    for url in [
        "ftp://x",
        "hooks.example.com",
        "https://",
        "https://a/?b",
        "https://a/#b",
        "",
    ] {
        assert_eq!(
            problems(&format!("[server]\npublic_url = \"{url}\"\n")).len(),
            1,
            "{url}"
        );
    }
}

#[test]
fn a_redis_that_cannot_be_is_refused_with_the_reason() {
    assert_eq!(
        problems("[store]\nurl = \"redis://:hunter2@cache?shards=3\"\n"),
        ["hapax.toml:2:1: store.url: the number of shards must be 1, 2, 4, 8, 16, 32 or 64"]
    );
}

/// A store, a source and a destination with these lines.
fn on(store: &str, source: &str, destination: &str) -> String {
    format!(
        "[store]\nurl = \"{store}\"\n[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"env:STRIPE_NEW\"]\n\
         deliver_to = [\"app\"]\n{source}\n[destinations.app]\nkind = \"http\"\nurl = \"http://127.0.0.1:3000/\"\n\
         {destination}\n"
    )
}

#[test]
fn a_cluster_keeps_no_order_and_one_redis_does() {
    let order = "order_by = \"body:/id\"";
    assert_eq!(problems(&on("redis://cache", "", order)), [""; 0]);
    for store in ["redis-cluster://a:1,b:2", "rediss-cluster://a:1"] {
        assert_eq!(
            problems(&on(store, "", order)),
            [
                "hapax.toml:11:1: destinations.app.order_by: a Redis Cluster cannot guarantee an order: the events of \
                 a lane are on several masters, and a failover may lose the last writes of one master but not of the \
                 others; remove it, or use one Redis server, PostgreSQL or SQLite"
            ]
        );
        assert_eq!(problems(&on(store, "", "")), [""; 0]);
    }
}

#[test]
fn replicas_are_waited_for_on_redis_alone() {
    let wait = "redis = { wait = 2 }";
    let config = parsed(&on("redis-cluster://a:1", wait, ""));
    assert_eq!(config.sources["stripe"].redis_wait, 2);
    assert!(
        config.to_toml().contains("redis = { wait = 2 } # line 7"),
        "{}",
        config.to_toml()
    );
    assert_eq!(
        problems(&on("sqlite:hapax.db", wait, "")),
        [
            "hapax.toml:7:1: sources.stripe.redis: the store is a file, which has no replicas: acknowledged events are \
             on its disk; remove it"
        ]
    );
    assert_eq!(
        problems(&on("postgres://db/app", wait, "")),
        [
            "hapax.toml:7:1: sources.stripe.redis: the store is PostgreSQL, which waits for its standbys according to \
             its own setting `synchronous_standby_names`; remove it"
        ]
    );
    assert_eq!(
        problems(&on("redis://a", "redis = { wait = 6, waits = 1 }", "")),
        [
            "hapax.toml:7:11: sources.stripe.redis.wait: 6 is not between 0 and 5",
            "hapax.toml:7:21: [sources.stripe.redis] has no key `waits`; did you mean `wait`?",
        ]
    );
}

#[test]
fn a_destination_that_does_not_exist_is_named_with_the_nearest() {
    let text = with_source(
        "provider = \"stripe\"\nsecrets = [\"env:STRIPE_NEW\"]\ndeliver_to = [\"app\", \"ap\", \"billing\"]",
    );
    assert_eq!(
        problems(&text),
        [
            "hapax.toml:4:22: sources.stripe.deliver_to.1: there is no [destinations.ap]; did you mean `app`?",
            "hapax.toml:4:28: sources.stripe.deliver_to.2: there is no [destinations.billing]",
        ]
    );
}

#[test]
fn a_broken_destination_is_reported_once_and_not_as_missing_too() {
    let text = "[sources.s]\nprovider = \"stripe\"\nsecrets = [\"env:STRIPE_NEW\"]\ndeliver_to = [\"app\"]\n[destinations.app]\nkind = \"http\"\n";
    assert_eq!(
        problems(text),
        [
            "hapax.toml:5:15: destinations.app: `url` is missing; an http destination needs it, such as \
          \"http://127.0.0.1:3000/webhooks\""
        ]
    );
}

#[test]
fn destination_ids_are_unique() {
    let text = "[destinations.a]\nkind = \"command\"\ncommand = [\"true\"]\nid = \"b\"\n[destinations.b]\nkind = \"command\"\ncommand = [\"true\"]\n";
    assert_eq!(
        problems(text),
        ["hapax.toml:4:1: destinations.a.id: `a` and `b` have the same id `b`; each needs its own"]
    );
}

#[test]
fn sources_that_share_a_scope_share_their_routes() {
    let source = |name: &str, deliver_to: &str| {
        format!(
            "[sources.{name}]\nprovider = \"stripe\"\nsecrets = [\"env:STRIPE_NEW\"]\nscope = \"pay\"\ndeliver_to = {deliver_to}\n"
        )
    };
    let tail = "[destinations.a]\nkind = \"command\"\ncommand = [\"true\"]\n[destinations.b]\nkind = \"command\"\ncommand = [\"true\"]\n";
    let text = |one: &str, two: &str| format!("{}{}{tail}", source("one", one), source("two", two));
    assert!(problems(&text("[\"a\", \"b\"]", "[\"b\", \"a\"]")).is_empty());
    assert_eq!(
        problems(&text("[\"a\", \"b\"]", "[\"a\"]")),
        [
            "hapax.toml:10:1: sources.two.deliver_to: `one` and `two` share the scope `pay`, so an event is delivered \
             as the first one to receive it says; give both the same `deliver_to`, or separate scopes"
        ]
    );
}

#[test]
fn what_leads_nowhere_is_warned_about() {
    let text = with_source("provider = \"stripe\"\nsecrets = [\"env:STRIPE_NEW\"]");
    assert_eq!(
        parsed(&text).warning_lines(),
        [
            "hapax.toml:1:10: sources.stripe: `deliver_to` is empty: events are stored and delivered nowhere",
            "hapax.toml:4:15: destinations.app: no source delivers to it",
        ]
    );
}

#[test]
fn several_problems_are_listed_together() {
    let error = parse(
        "[server]\na = 1\nb = 2\n",
        Path::new("hapax.toml"),
        &environment(),
        &[],
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the configuration has 2 problems\n  hapax.toml:2:1: [server] has no key `a`\n  hapax.toml:3:1: [server] has no key `b`"
    );
}
