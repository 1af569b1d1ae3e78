//! Secrets: their origins are shown, their values are not.

use super::*;

const VALUES: [&str; 5] = [
    "hunter2",
    "hunter3",
    "token-hunter2",
    "aHVudGVy",
    "literal-hunter",
];

fn assert_hidden(text: &str) {
    for value in VALUES {
        assert!(!text.contains(value), "{value} is in {text}");
    }
}

#[test]
fn secrets_are_in_no_debug_output_and_in_no_shown_configuration() {
    let text = FULL.replace("env:STRIPE_OLD", "literal-hunter2");
    let config = parsed(&text);
    assert_hidden(&format!("{config:?}"));
    assert_hidden(&config.to_toml());
    assert_hidden(&config.to_json().to_string());
    assert_hidden(&config.warning_lines().join("\n"));
    assert_hidden(&format!("{:?}", environment()));
}

#[test]
fn shown_values_have_their_origin_and_secrets_their_reference() {
    let shown = parsed(&FULL.replace("env:STRIPE_OLD", "literal-hunter2")).to_toml();
    for line in [
        "listen = \"127.0.0.1:8080\" # line 3",
        "admin_token = \"*** (env:TOKEN)\" # line 5",
        "secrets = [\"*** (env:STRIPE_NEW)\", \"*** (literal)\"] # line 15",
        "secret = \"*** (env:SIGNING)\" # line 37",
        "event_id = \"body:/id\" # default",
        "timeout = \"10s\" # default",
    ] {
        assert!(shown.contains(&format!("{line}\n")), "{line} is not in\n{shown}");
    }
}

#[test]
fn what_is_shown_is_toml_in_the_shape_of_the_file() {
    let config = parsed(FULL);
    let shown: toml::Table = toml::from_str(&config.to_toml()).unwrap();
    assert_eq!(serde_json::json!(shown), config.to_json());
    assert_eq!(
        config.to_json()["sources"]["inhouse"]["verify"]["prefix"],
        "sha256="
    );
    // Parsed again, with the secrets restored, the output is accepted and nothing changes.
    let again = config.to_toml().replace("*** (", "").replace(")\"", "\"");
    assert_eq!(parsed(&again).to_json(), config.to_json());
}

#[test]
fn a_literal_secret_is_warned_about() {
    let config = parsed(&FULL.replace("env:STRIPE_OLD", "literal-hunter2"));
    assert_eq!(
        config.warning_lines(),
        [
            "hapax.toml:15:30: sources.stripe.secrets.1: the secret is written in the file; use \"env:NAME\", \
             \"file:PATH\" or \"exec:COMMAND\" to keep it out"
        ]
    );
}

#[test]
fn a_secret_that_cannot_be_had_is_a_problem_at_its_place() {
    let text = FULL
        .replace("env:STRIPE_OLD", "env:NOPE")
        .replace("env:TOKEN", "file:/no/such/token");
    let found = problems(&text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("hapax.toml:5:1: server.admin_token: the file /no/such/token cannot be read")
    );
    assert_eq!(
        found[1],
        "hapax.toml:15:30: sources.stripe.secrets.1: the environment variable NOPE is not set; set it, or use another \
         one with \"env:NAME\""
    );
}

#[test]
fn a_secret_of_the_wrong_kind_is_found_at_once_and_not_printed() {
    let standard = with_source(
        "provider = \"standard-webhooks\"\nsecrets = [\"env:SIGNING\", \"env:NOT_BASE64\"]\ndeliver_to = [\"app\"]",
    );
    assert_eq!(
        problems(&standard),
        [
            "hapax.toml:3:27: sources.stripe.secrets.1: not base64 after whsec_; copy the complete secret again"
        ]
    );
    let outgoing = FULL.replace("env:SIGNING", "env:NOT_BASE64");
    assert_eq!(
        problems(&outgoing),
        [
            "hapax.toml:37:1: destinations.billing.secret: secret 1: not base64 after whsec_; copy the complete secret again \
          (Standard Webhooks: \"whsec_\" and base64)",
            "hapax.toml:66:1: outbox.app.secret: secret 1: not base64 after whsec_; copy the complete secret again \
          (Standard Webhooks: \"whsec_\" and base64)",
            "hapax.toml:95:1: alerts.receivers.pager.secret: secret 1: not base64 after whsec_; copy the complete secret again \
          (Standard Webhooks: \"whsec_\" and base64)",
        ]
    );
}

#[test]
fn a_secret_that_is_no_text_is_refused_without_printing_it() {
    let found = problems(&with_source("provider = \"stripe\"\nsecrets = [12345678]"));
    assert_eq!(
        found,
        ["hapax.toml:3:12: sources.stripe.secrets.0: expected a string in quotes, found a whole number"]
    );
}
