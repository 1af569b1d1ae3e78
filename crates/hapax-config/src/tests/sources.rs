//! `[sources.NAME]`.

use std::time::Duration;

use hapax_api::duration::format_duration;
use hapax_verify::OnConflict;

use super::*;

const STRIPE: &str = "provider = \"stripe\"\nsecrets = [\"env:STRIPE_NEW\"]\ndeliver_to = [\"app\"]\n";
const CUSTOM: &str = "secrets = [\"env:STRIPE_NEW\"]\ndeliver_to = [\"app\"]\n";

fn stripe_with(more: &str) -> Vec<String> {
    problems(&with_source(&format!("{STRIPE}{more}")))
}

fn custom_with(more: &str) -> Vec<String> {
    problems(&with_source(&format!("{CUSTOM}{more}")))
}

#[test]
fn a_source_needs_secrets() {
    assert_eq!(
        problems(&with_source("provider = \"stripe\"\ndeliver_to = [\"app\"]")),
        [
            "hapax.toml:1:10: sources.stripe: `secrets` is missing; without one nothing can be verified; add it like secrets = \
          [\"env:NAME\"]"
        ]
    );
    assert_eq!(
        problems(&with_source("provider = \"stripe\"\nsecrets = []")),
        [
            "hapax.toml:3:1: sources.stripe.secrets: the list is empty, and without a secret nothing can be verified; add one \
          like \"env:NAME\""
        ]
    );
}

#[test]
fn a_source_has_a_known_provider_or_a_verify_table() {
    assert_eq!(
        problems(&with_source(&STRIPE.replace("\"stripe\"", "\"strpe\""))),
        [
            "hapax.toml:2:1: sources.stripe.provider: \"strpe\" is not in the catalogue; `hapax providers` lists the \
          known ones; did you mean `stripe`?"
        ]
    );
    assert_eq!(
        stripe_with("verify = { scheme = \"hmac-sha256\", header = \"x\" }"),
        [
            "hapax.toml:5:1: sources.stripe.verify: a source has a `provider` or a `verify` table, not both; remove one"
        ]
    );
    assert_eq!(
        custom_with(""),
        [
            "hapax.toml:1:10: sources.stripe: `provider` is missing; set a provider of the catalogue (`hapax \
             providers` lists them), or describe the signature with `verify`"
        ]
    );
}

#[test]
fn a_verify_table_is_checked_whole() {
    let id = "event_id = \"body:/id\"\n";
    assert_eq!(
        custom_with("verify = { scheme = \"hmac-sha256\", header = \"x\" }"),
        [
            "hapax.toml:1:10: sources.stripe: `event_id` is missing; without a provider of the catalogue, set the \
          location of the event id, such as \"header:x-event-id\" or \"body:/id\""
        ]
    );
    assert_eq!(
        custom_with(&format!(
            "{id}verify = {{ scheme = \"hmac-sha256\", header = \"x\", tolerence = \"5m\" }}"
        )),
        ["hapax.toml:5:50: [sources.stripe.verify] has no key `tolerence`; did you mean `tolerance`?"]
    );
    let unknown = custom_with(&format!(
        "{id}verify = {{ scheme = \"hmac-md5\", header = \"x\" }}"
    ));
    assert!(
        unknown[0].starts_with("hapax.toml:5:21: sources.stripe.verify: unknown variant `hmac-md5`"),
        "{unknown:?}"
    );
    assert_eq!(
        custom_with(&format!("{id}verify = {{ scheme = \"hmac-sha256\" }}")),
        [
            "hapax.toml:5:1: sources.stripe.verify: `scheme = \"hmac-sha256\"` needs `header`: the header that holds the \
          signature"
        ]
    );
    let unsigned = custom_with(&format!(
        "{id}verify = {{ scheme = \"hmac-sha256\", header = \"x\", signed = \"hello\" }}"
    ));
    assert!(
        unsigned[0].starts_with("hapax.toml:5:1: sources.stripe.verify: `signed` does not contain {body}"),
        "{unsigned:?}"
    );
    let movable = custom_with(&format!(
        "{id}verify = {{ scheme = \"hmac-sha256\", header = \"x\", id_header = \"x-id\", signed = \"{{id}}{{body}}\" }}"
    ));
    assert!(
        movable[0]
            .starts_with("hapax.toml:5:1: sources.stripe.verify: `signed` does not show where {id} ends")
            && movable[0].ends_with("write it like \"{id}.{body}\""),
        "{movable:?}"
    );
    assert_eq!(
        custom_with(
            "event_id = [\"body:/id\", \"id\"]\nverify = { scheme = \"hmac-sha256\", header = \"x\" }"
        ),
        [
            "hapax.toml:4:25: sources.stripe.event_id.1: \"id\" is not a location of an id or type: write \"header:NAME\", \
          \"body:/json/pointer\" or \"body-sha256\""
        ]
    );
}

#[test]
fn an_id_of_ones_own_has_the_class_that_follows_from_it() {
    use hapax_verify::IdClass;
    let verify = "verify = { scheme = \"hmac-sha256\", header = \"x\" }";
    for (event_id, class) in [
        ("\"none\"", IdClass::NotDeduplicated),
        ("[\"body:/order\", \"body-sha256\"]", IdClass::Content),
        ("\"body:/id\"", IdClass::OwnId),
    ] {
        let own = parsed(&with_source(&format!("{CUSTOM}event_id = {event_id}\n{verify}")));
        assert_eq!(own.sources["stripe"].recipe.identity.class, class, "{event_id}");
        // What is known about a preset's own ids does not apply to another id.
        let zoom = STRIPE.replace("\"stripe\"", "\"zoom\"");
        let preset = parsed(&with_source(&format!("{zoom}event_id = {event_id}")));
        let identity = &preset.sources["stripe"].recipe.identity;
        assert_eq!((identity.class, identity.version), (class, 1), "{event_id}");
        assert_eq!(identity.earlier, None, "{event_id}");
    }
}

#[test]
fn a_signature_over_the_url_needs_the_public_url() {
    let text = with_source(&format!(
        "{CUSTOM}event_id = \"body:/id\"\nverify = {{ scheme = \"hmac-sha256\", header = \"x\", signed = \"{{url}}|{{body}}\" }}"
    ));
    assert_eq!(
        problems(&text),
        [
            "hapax.toml:5:1: sources.stripe.verify: the signature covers the URL; set `server.public_url`, or \
             `public_url` of this source, to the URL that the provider calls"
        ]
    );
    assert!(problems(&format!("[server]\npublic_url = \"https://a.example\"\n{text}")).is_empty());
    let own = text.replace("event_id", "public_url = \"https://a.example/hooks/\"\nevent_id");
    assert!(problems(&own).is_empty());
}

#[test]
fn a_public_url_and_a_limit_of_a_source_are_checked_as_the_servers_are() {
    assert_eq!(
        stripe_with("public_url = \"https://a.example/?x=1\"\nbody_limit = \"1GiB\""),
        [
            "hapax.toml:5:1: sources.stripe.public_url: a public URL has no query, fragment or user name; write it like \
             \"https://hooks.example.com\"",
            "hapax.toml:6:1: sources.stripe.body_limit: \"1GiB\" is not between 1KiB and 64MiB",
        ]
    );
    let config = |more: &str| parsed(&with_source(&format!("{STRIPE}{more}")));
    let own = config("public_url = \"https://a.example/hooks/\"\nbody_limit = \"6MiB\"");
    assert_eq!(own.public_url_of("stripe"), "https://a.example/hooks/");
    assert_eq!(own.sources["stripe"].body_limit, 6 << 20);
    assert_eq!(config("").sources["stripe"].body_limit, 5 << 20);
}

#[test]
fn a_preset_knows_how_large_its_senders_bodies_are() {
    let github = with_source(&STRIPE.replace("\"stripe\"", "\"github\""));
    let limit = |server: &str| parsed(&format!("{server}{github}")).sources["stripe"].body_limit;
    assert_eq!(limit(""), 32 << 20);
    assert_eq!(limit("[server]\nbody_limit = \"1MiB\"\n"), 32 << 20);
    assert_eq!(limit("[server]\nbody_limit = \"40MiB\"\n"), 40 << 20);
}

#[test]
fn what_a_scheme_needs_or_does_not_read_is_said_at_its_place() {
    let id = "event_id = \"body:/id\"\n";
    for (verify, problem) in [
        (
            "scheme = \"token\"",
            "`scheme = \"token\"` needs `header` or `query`",
        ),
        (
            "scheme = \"basic\", header = \"x\"",
            "`scheme = \"basic\"` takes no `header`",
        ),
        ("scheme = \"jwt\"", "`scheme = \"jwt\"` needs `algorithm`"),
        (
            "scheme = \"jwt\", algorithm = \"HS256\", tolerance = \"9d\"",
            "`tolerance` is \"9d\"",
        ),
    ] {
        let found = custom_with(&format!("{id}verify = {{ {verify} }}"));
        let expected = format!("hapax.toml:5:1: sources.stripe.verify: {problem}");
        assert!(found[0].starts_with(&expected), "{verify}: {found:?}");
    }
    let unknown = custom_with(&format!(
        "{id}verify = {{ scheme = \"jwt\", algorithm = \"none\" }}"
    ));
    assert!(
        unknown[0].contains("unknown variant `none`, expected one of `HS256`"),
        "{unknown:?}"
    );
    // The message names the secret but never contains it.
    for (verify, problem) in [
        ("scheme = \"basic\"", "it is not `user:password`"),
        (
            "scheme = \"ecdsa-p256\", header = \"x\"",
            "not base64; copy the complete secret again",
        ),
        (
            "scheme = \"jwt\", algorithm = \"RS256\"",
            "it is not an RSA public key of at least 2048 bits in PEM or base64",
        ),
    ] {
        let found = custom_with(&format!("{id}verify = {{ {verify} }}"));
        let expected = format!("sources.stripe.secrets.0: {problem}");
        assert!(
            found[0].contains(&expected) && !found[0].contains("hunter"),
            "{found:?}"
        );
    }
}

#[test]
fn the_ledger_remembers_longer_than_the_sender_repeats() {
    assert_eq!(
        stripe_with("ledger_window = \"3d\""),
        [
            "hapax.toml:5:1: sources.stripe.ledger_window: 3d forgets ids too early: Stripe retries for up to 3d, and \
             a late duplicate would take effect twice; use at least 4d"
        ]
    );
    assert!(stripe_with("ledger_window = \"4d\"").is_empty());
}

#[test]
fn a_retry_window_that_nobody_knows_counts_as_three_days() {
    let custom = "event_id = \"body:/id\"\nverify = { scheme = \"hmac-sha256\", header = \"x\" }\n";
    assert_eq!(
        custom_with(&format!("{custom}ledger_window = \"3d\"")),
        [
            "hapax.toml:6:1: sources.stripe.ledger_window: 3d forgets ids too early: the retry window of the provider \
             is unknown and counts as 3d, and a late duplicate would take effect twice; use at least 4d"
        ]
    );
    assert!(custom_with(&format!("{custom}ledger_window = \"4d\"")).is_empty());
    let heroku = STRIPE.replace("\"stripe\"", "\"heroku\"");
    let problems = problems(&with_source(&format!("{heroku}ledger_window = \"1d\"")));
    assert!(
        problems[0].contains("the retry window of Heroku")
            && problems[0].contains("is unknown and counts as 3d"),
        "{problems:?}"
    );
}

#[test]
fn a_status_that_the_sender_does_not_take_is_refused() {
    let xero = STRIPE.replace("\"stripe\"", "\"xero\"");
    assert_eq!(
        problems(&with_source(&format!("{xero}ack_status = 202"))),
        ["hapax.toml:5:1: sources.stripe.ack_status: Xero treats only 200 as success; remove it"]
    );
    assert!(problems(&with_source(&format!("{xero}ack_status = 200"))).is_empty());
}

#[test]
fn an_answer_that_the_sender_would_not_hear_is_refused() {
    let xero = STRIPE.replace("\"stripe\"", "\"xero\"");
    assert_eq!(
        problems(&with_source(&format!(
            "{xero}ack = \"processed\"\nack_timeout = \"5s\""
        ))),
        [
            "hapax.toml:6:1: sources.stripe.ack_timeout: the provider times out after 5 s, before this response; use a \
             shorter time"
        ]
    );
    assert!(
        problems(&with_source(&format!(
            "{xero}ack = \"processed\"\nack_timeout = \"4s\""
        )))
        .is_empty()
    );
}

#[test]
fn a_sender_that_hands_its_secret_over_needs_a_key_and_no_secret() {
    let asana = with_source("provider = \"asana\"\ndeliver_to = [\"app\"]");
    assert_eq!(
        problems(&asana),
        [
            "hapax.toml:2:1: sources.stripe.provider: this provider sends its secret in a handshake, and the store \
             must keep it encrypted; set `store.encryption_keys`, such as [\"env:HAPAX_ENCRYPTION_KEY\"] (`openssl \
             rand -hex 32` generates one)"
        ]
    );
    assert!(
        problems(&format!(
            "[store]\nencryption_keys = [\"env:STATE_KEY\"]\n{asana}"
        ))
        .is_empty()
    );
}

#[test]
fn keys_of_the_store_are_long_and_each_is_named_once() {
    let of = |keys: &str| problems(&format!("[store]\nencryption_keys = [{keys}]"));
    for keys in ["\"env:STATE_KEY\"", "\"plain\", \"env:STATE_KEY\""] {
        assert_eq!(of(keys), [""; 0], "{keys}");
    }
    assert_eq!(
        of("\"env:TOKEN\""),
        [
            "hapax.toml:2:20: store.encryption_keys.0: a key of fewer than 32 characters can be guessed; `openssl rand \
          -hex 32` generates one"
        ]
    );
    assert_eq!(
        of("\"env:STATE_KEY\", \"env:STATE_KEY\""),
        ["hapax.toml:2:37: store.encryption_keys.1: this key is already in the list; list each key once"]
    );
    assert_eq!(
        of("\"plain\""),
        [
            "hapax.toml:2:1: store.encryption_keys: \"plain\" must be followed by keys that are not used yet or no \
             longer used; add them after it, or remove the line"
        ]
    );
    assert_eq!(
        problems("[server]\nstate_key = \"env:STATE_KEY\""),
        [
            "hapax.toml:2:1: [server] has no key `state_key`; it was removed, because the whole store is encrypted \
          now: write the same secret under `[store]`, as `encryption_keys = [\"env:HAPAX_STATE_KEY\"]`, and values \
          that it encrypted stay readable"
        ]
    );
}

#[test]
fn bodies_go_before_ids() {
    let config = parsed(&with_source(&format!("{STRIPE}ledger_window = \"5d\"")));
    assert_eq!(format_duration(config.sources["stripe"].payload_retention), "5d");
    assert_eq!(format_duration(config.sources["stripe"].dead_retention), "5d");
    assert_eq!(
        stripe_with("ledger_window = \"20d\"\npayload_retention = \"21d\"\ndead_retention = \"25d\""),
        [
            "hapax.toml:6:1: sources.stripe.payload_retention: 21d is longer than `ledger_window`, which is 20d, but \
             no body may outlive its id; shorten this one or lengthen `ledger_window`",
            "hapax.toml:7:1: sources.stripe.dead_retention: 25d is longer than `ledger_window`, which is 20d, but no \
             body may outlive its id; shorten this one or lengthen `ledger_window`",
        ]
    );
    assert_eq!(
        stripe_with("ledger_window = \"4000d\""),
        ["hapax.toml:5:1: sources.stripe.ledger_window: \"4000d\" is not between 1s and 3650d"]
    );
}

#[test]
fn what_this_build_cannot_do_is_refused_clearly() {
    assert_eq!(
        stripe_with("options = { webhook_id = \"1\" }"),
        [
            "hapax.toml:5:13: sources.stripe.options: the provider `stripe` has no option `webhook_id`; remove it"
        ]
    );
}

#[test]
fn an_answer_after_the_work_has_a_limit_that_the_sender_can_wait_for() {
    let ack = |more: &str| parsed(&with_source(&format!("{STRIPE}{more}"))).sources["stripe"].ack;
    assert_eq!(ack(""), Ack::Stored);
    let limit = Duration::from_millis(1_500);
    assert_eq!(ack("ack = \"processed\""), Ack::Processed { limit });
    let limit = Duration::from_secs(3);
    assert_eq!(
        ack("ack = \"processed\"\nack_timeout = \"3s\""),
        Ack::Processed { limit }
    );
    assert_eq!(
        stripe_with("ack_timeout = \"3s\""),
        [
            "hapax.toml:5:1: sources.stripe.ack_timeout: has no effect without `ack = \"processed\"`; remove it, or \
             set that"
        ]
    );
}

#[test]
fn small_values_are_checked_too() {
    assert_eq!(
        stripe_with("ack = \"strored\"\nack_status = 201\nscope = \"A\"\nrate_limit = \"500\""),
        [
            "hapax.toml:5:1: sources.stripe.ack: \"strored\" is not one of \"stored\", \"processed\"; did you mean `stored`?",
            "hapax.toml:6:1: sources.stripe.ack_status: 201 is not 200 or 202",
            "hapax.toml:7:1: sources.stripe.scope: \"A\" cannot be used: a name has 1 to 64 lower-case letters, digits, `-` \
             and `_`, and begins with a letter or digit",
            "hapax.toml:8:1: sources.stripe.rate_limit: \"500\" is not a rate: write how many (1 to 1000000) per s, m or h, \
             such as \"500/s\" or \"100/m\"",
        ]
    );
    assert_eq!(
        problems(&with_source(&STRIPE.replace("[\"app\"]", "[\"app\", \"app\"]"))),
        [
            "hapax.toml:4:22: sources.stripe.deliver_to.1: `app` is listed twice; each event is delivered there once"
        ]
    );
}

#[test]
fn indexed_fields_are_pointers_each_once_and_not_too_many() {
    assert_eq!(stripe_with("indexed = [\"/data/object/id\", \"/a~1b\"]"), [""; 0]);
    assert_eq!(
        stripe_with("indexed = [\"data.id\", \"/id\", \"/id\"]"),
        [
            "hapax.toml:5:12: sources.stripe.indexed.0: `data.id` is not a JSON pointer; write it like \"/data/object/id\"",
            "hapax.toml:5:30: sources.stripe.indexed.2: `/id` is listed twice; once is enough",
        ]
    );
    let nine: Vec<String> = (0..9).map(|number| format!("\"/{number}\"")).collect();
    assert_eq!(
        stripe_with(&format!("indexed = [{}]", nine.join(", "))),
        ["hapax.toml:5:1: sources.stripe.indexed: at most 8 fields"]
    );
}

#[test]
fn a_source_says_what_a_known_body_under_another_id_is() {
    use hapax_engine::SameBody;
    let github = STRIPE.replace("\"stripe\"", "\"github\"");
    let same_body = |lines: &str| {
        let text = with_source(&format!("{github}{lines}"));
        parsed(&text).sources["stripe"].same_body
    };
    assert_eq!(same_body(""), SameBody::Flag);
    assert_eq!(same_body("same_body = \"flag\""), SameBody::Flag);
    assert_eq!(same_body("same_body = \"hold\""), SameBody::Hold);
    assert_eq!(
        stripe_with("same_body = \"hold\""),
        [
            "hapax.toml:5:1: sources.stripe.same_body: the provider's signature covers the event id, so its body \
             cannot be sent under another id; remove it"
        ]
    );
    let none = problems(&with_source(&format!(
        "{github}event_id = \"none\"\nsame_body = \"hold\""
    )));
    assert!(none[0].contains("two may well have the same body"), "{none:?}");
}

#[test]
fn a_source_says_what_another_content_under_a_known_id_is() {
    let on_conflict = |lines: &str| {
        let text = with_source(&format!("{STRIPE}{lines}"));
        parsed(&text).sources["stripe"].recipe.identity.on_conflict
    };
    assert_eq!(on_conflict(""), OnConflict::Keep);
    assert_eq!(on_conflict("on_conflict = \"accept\""), OnConflict::Accept);
    assert_eq!(on_conflict("on_conflict = \"keep\""), OnConflict::Keep);
    assert_eq!(
        stripe_with("on_conflict = \"drop\""),
        ["hapax.toml:5:1: sources.stripe.on_conflict: \"drop\" is not one of \"keep\", \"accept\""]
    );
    assert_eq!(
        stripe_with("on_conflict = \"quarantine\""),
        [
            "hapax.toml:5:1: sources.stripe.on_conflict: \"quarantine\" is not one of \"keep\", \"accept\"; \
             `on_conflict = \"quarantine\"` is now `on_conflict = \"keep\"`"
        ]
    );
}

/// `hapax-verify` stands alone and has a reader of its own.
#[test]
fn both_readers_of_json_pointers_agree() {
    use hapax_verify::identity::Pointer;

    for text in [
        "/",
        "//",
        "/a",
        "/a/b",
        "/a/",
        "/~0",
        "/~1",
        "/~01",
        "/~10",
        "/a~1b/c~0d",
        "/é",
        "/ ",
        "/-",
        "/0",
        "/01",
        "/*",
        "a",
        "#/a",
        " /a",
        "/~",
        "/~2",
        "/a~",
        "/~~0",
        "~0",
    ] {
        let ours = hapax_core::json_pointer::tokens(text).ok();
        let theirs = text.parse::<Pointer>().ok();
        assert_eq!(ours.as_deref(), theirs.as_ref().map(Pointer::tokens), "{text}");
    }
}
