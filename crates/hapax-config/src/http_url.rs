//! URLs to call, and how they are displayed: a path, a query or a user name may contain a token.

use std::net::IpAddr;

use http::Uri;

use super::address::is_forbidden;

/// Parses a URL that requests are sent to. The error never quotes the URL, which may come from a secret.
pub fn http_url(text: &str) -> Result<Uri, String> {
    let example = "write it like \"http://127.0.0.1:3000/webhooks\"";
    if text
        .split('/')
        .nth(2)
        .is_some_and(|authority| authority.contains('@'))
    {
        return Err(
            "a user name or password in the URL is not sent; remove it, and set `secret` to sign requests"
                .to_owned(),
        );
    }
    let uri: Uri = text
        .parse()
        .map_err(|_| format!("this is not a URL; {example}"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(format!(
            "the URL does not begin with http:// or https://; {example}"
        ));
    }
    if text.contains('#') {
        return Err("a fragment (`#`) is not sent; remove it".to_owned());
    }
    let host = uri
        .host()
        .unwrap_or_default()
        .trim_start_matches('[')
        .trim_end_matches(']');
    if host.is_empty() {
        return Err(format!("the URL has no host; {example}"));
    }
    match host.parse::<IpAddr>().ok().and_then(is_forbidden) {
        Some(why) => Err(format!("nothing is delivered to {host}: {why}")),
        None => Ok(uri),
    }
}

/// A URL without its user name, password and query.
pub fn shown_url(url: &Uri) -> String {
    format!("{}{}", origin_of(url), url.path())
}

/// A URL's scheme, host and port: no part that could be a token.
pub fn origin_of(url: &Uri) -> String {
    let authority = url.authority().map_or("", http::uri::Authority::as_str);
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{}://{host}", url.scheme_str().unwrap_or("http"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_may_be_secret() {
        let shown = |url: &str| shown_url(&url.parse().unwrap());
        assert_eq!(
            shown("https://user:hunter2@example.com:8443/hook?token=x"),
            "https://example.com:8443/hook"
        );
        assert_eq!(shown("http://127.0.0.1:3000"), "http://127.0.0.1:3000/");
    }

    #[test]
    fn a_refusal_never_quotes_the_url() {
        for url in [
            "hunter2",
            "ftp://example.com/hunter2",
            "http://user:hunter2@example.com/",
            "http://example.com/hunter2#top",
            "http://exa mple.com/hunter2",
            "http://169.254.169.254/hunter2",
            "http:///hunter2",
        ] {
            let why = http_url(url).unwrap_err();
            assert!(!why.contains("hunter2"), "{why}");
        }
    }
}
