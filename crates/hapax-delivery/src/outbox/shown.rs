//! How a row's headers are displayed. A row is a complete request with all of its credentials: the URL may hold a
//! token, as Slack's do in their path, and headers hold keys.

use hapax_core::SourceName;
use http::Uri;

use super::{KEY_HEADER, TARGET_HEADER, is_outbox};
use hapax_config::{origin_of, shown_url};

/// Displayed instead of a credential.
const HIDDEN: &str = "***";
/// Words in the names of headers whose values are credentials.
const CREDENTIAL_WORDS: [&str; 17] = [
    "apikey",
    "auth",
    "authentication",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "passwd",
    "password",
    "secret",
    "session",
    "signature",
    "token",
    "tokens",
];
/// Headers that only sound like credentials.
const NO_CREDENTIALS: [&str; 2] = ["idempotency-key", KEY_HEADER];

/// The text to display instead of a header's value if that may hold a credential; `None` if the value may be shown or
/// the event is not an outbox row.
pub fn instead_of(source: &SourceName, name: &str, value: &[u8]) -> Option<String> {
    if !is_outbox(source) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let url = || Uri::try_from(value).ok().filter(|url| url.scheme().is_some());
    if name == TARGET_HEADER {
        return Some(url().map_or_else(
            || HIDDEN.to_owned(),
            |url| format!("{}/{HIDDEN}", origin_of(&url)),
        ));
    }
    if is_credential(&name) {
        return Some(HIDDEN.to_owned());
    }
    url().map(|url| shown_url(&url))
}

fn is_credential(name: &str) -> bool {
    let mut words = name.split(['-', '_']);
    !NO_CREDENTIALS.contains(&name) && words.any(|word| CREDENTIAL_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, value: &str) -> String {
        let instead = instead_of(&"outbox.app".into(), name, value.as_bytes());
        instead.unwrap_or_else(|| value.to_owned())
    }

    #[test]
    fn nothing_of_a_row_shows_a_credential() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "X-API-Key",
            "api_key",
            "X-Auth-Token",
            "Private-Token",
            "Ocp-Apim-Subscription-Key",
            "X-Amz-Security-Token",
            "X-Shared-Secret",
            "X-Hub-Signature-256",
        ] {
            assert_eq!(shown(name, "hunter2"), "***", "{name}");
        }
        for (name, value, expected) in [
            (
                TARGET_HEADER,
                "https://hooks.example.com:8443/T0/hunter2?a=b",
                "https://hooks.example.com:8443/***",
            ),
            (TARGET_HEADER, "hunter2 hunter2", "***"),
            (
                "x-callback",
                "https://me:hunter2@example.com/done?token=hunter2",
                "https://example.com/done",
            ),
            ("content-type", "application/json", "application/json"),
            ("idempotency-key", "receipt-7", "receipt-7"),
            ("hapax-outbox-key", "receipt-7", "receipt-7"),
            ("x-monkey", "7", "7"),
        ] {
            assert_eq!(shown(name, value), expected, "{name}: {value}");
        }
    }

    #[test]
    fn headers_of_webhooks_are_not_its_business() {
        assert_eq!(instead_of(&"stripe".into(), "x-api-key", b"x"), None);
    }
}
