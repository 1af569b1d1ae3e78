//! `[server.oidc]`.

use super::*;

const GOOD: &str = "issuer = \"https://login.example.com\"\nclient_id = \"hapax\"\n\
                    dashboard_url = \"https://hapax.example.com\"\nrole_claim = \"groups\"\nroles = { staff = \"read\" }\n";

fn with(oidc: &str) -> String {
    format!("[server]\nadmin_token = \"0123456789abcdef\"\n[server.oidc]\n{oidc}")
}

#[test]
fn what_is_left_out_has_a_default_and_slashes_at_the_end_are_kept_where_they_count() {
    let oidc = parsed(&with(GOOD)).server.oidc.unwrap();
    assert_eq!(
        oidc.discovery_url.to_string(),
        "https://login.example.com/.well-known/openid-configuration"
    );
    assert_eq!(oidc.scopes, ["profile", "email"]);
    let slash = with(&GOOD.replace("example.com\"", "example.com/\""));
    let oidc = parsed(&slash).server.oidc.unwrap();
    assert_eq!(oidc.issuer, "https://login.example.com/");
    assert_eq!(
        oidc.redirect_url(),
        "https://hapax.example.com/login/oidc/callback"
    );
    assert!(parsed("").server.oidc.is_none());
}

#[test]
fn what_cannot_work_or_is_not_safe_is_refused_with_what_to_write() {
    let cases = [
        (
            "https://login.example.com",
            "http://login.example.com",
            "server.oidc.issuer: this is not safe without TLS",
        ),
        (
            "https://hapax.example.com",
            "http://hapax.example.com",
            "server.oidc.dashboard_url: this is not safe without TLS",
        ),
        (
            "\"read\"",
            "\"reed\"",
            "server.oidc.roles.staff: \"reed\" is not one of \"read\", \"operate\", \"admin\"; did you mean `read`?",
        ),
        (
            "{ staff = \"read\" }",
            "{}",
            "server.oidc.roles: 1 to 256 values can be mapped",
        ),
        (
            "client_id = \"hapax\"\n",
            "",
            "server.oidc: `client_id` is missing; write it like client_id = \"hapax\"",
        ),
        ("\"groups\"", "\"\"", "server.oidc.role_claim: this is empty"),
    ];
    for (right, wrong, problem) in cases {
        let found = problems(&with(&GOOD.replace(right, wrong)));
        assert_eq!(found.len(), 1, "{wrong}: {found:?}");
        assert!(found[0].contains(problem), "{wrong}: {found:?}");
    }
    let local = GOOD.replace("https://login.example.com", "http://127.0.0.1:9000");
    assert!(problems(&with(&local)).is_empty());
}

#[test]
fn an_identity_provider_stands_beside_an_admin_token() {
    let found = problems(&format!("[server.oidc]\n{GOOD}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("server.oidc: without `admin_token`"),
        "{found:?}"
    );
}

#[test]
fn the_client_secret_is_never_shown_and_changing_it_ends_no_session() {
    let secret = with(&format!("{GOOD}client_secret = \"hunter2hunter2\"\n"));
    let config = parsed(&secret);
    for shown in [
        config.to_toml(),
        config.to_json().to_string(),
        format!("{config:?}"),
    ] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let fingerprint = |text: &str| parsed(text).server.oidc.unwrap().fingerprint();
    let before = fingerprint(&with(GOOD));
    assert_eq!(fingerprint(&secret), before);
    for (right, other) in [
        ("\"read\"", "\"admin\""),
        ("staff", "crew"),
        ("\"groups\"", "\"roles\""),
        ("login.example.com", "other.example.com"),
        ("\"hapax\"", "\"another\""),
    ] {
        assert_ne!(fingerprint(&with(&GOOD.replace(right, other))), before, "{other}");
    }
}
