//! URLs of keys that a request names, checked before they are called.
//!
//! The client chooses such a URL. Only one plain form is accepted: `https`, a host name in lower case, no user, no
//! port, a path of ordinary characters and nothing after it. Anything that a lenient parser might read differently is
//! refused.

/// The maximum length of a key's URL.
const URL_BYTES_MAX: usize = 512;

/// The host and the path of a URL in the plain form.
pub(super) fn plain_https(url: &str) -> Option<(&str, &str)> {
    if url.len() > URL_BYTES_MAX {
        return None;
    }
    let rest = url.strip_prefix("https://")?;
    let (host, path) = rest.split_at_checked(rest.find('/')?)?;
    let plain_path = path
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte));
    (is_host(host) && plain_path && !path.contains("..")).then_some((host, path))
}

/// Whether this is a host name in lower case, with at least two labels.
pub(super) fn is_host(host: &str) -> bool {
    let label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(plain)
    };
    host.contains('.') && host.split('.').all(label)
}

/// Whether the text consists of lower-case hexadecimal digits.
pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_plain_form_passes() {
        let plain = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-01ab.pem";
        let expected = (
            "sns.us-east-1.amazonaws.com",
            "/SimpleNotificationService-01ab.pem",
        );
        assert_eq!(plain_https(plain), Some(expected));
        for wrong in [
            "http://sns.us-east-1.amazonaws.com/x.pem",
            "https://sns.us-east-1.amazonaws.com@evil.example/x.pem",
            "https://user:x@sns.us-east-1.amazonaws.com/x.pem",
            "https://sns.us-east-1.amazonaws.com:8443/x.pem",
            "https://sns.us-east-1.amazonaws.com\\@evil.example/x.pem",
            "https://sns.us-east-1.amazonaws.com#/x.pem",
            "https://sns.us-east-1.amazonaws.com?/x.pem",
            "https://SNS.us-east-1.amazonaws.com/x.pem",
            "https://sns.us-east-1.amazonaws.com./x.pem",
            "https://sns.us-east-1.amazonaws.com/x.pem?y=.pem",
            "https://sns.us-east-1.amazonaws.com/a/../x.pem",
            "https://sns.us-east-1.amazonaws.com/%2e%2e/x.pem",
            "https:///x.pem",
            "https://localhost/x.pem",
            "https://[::1]/x.pem",
            "https://sns.us-east-1.amazonaws.com",
            " https://sns.us-east-1.amazonaws.com/x.pem",
            "https://sns.us-east-1.amazonaws.com/x\n.pem",
        ] {
            assert_eq!(plain_https(wrong), None, "{wrong}");
        }
    }
}
