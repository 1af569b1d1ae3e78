//! The origin of a request: the host name it was sent to, and the web page that sent it.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{HOST, ORIGIN};

use super::Access;
use crate::api_error::ApiError;
use hapax_api::problem::Code;

impl Access {
    /// Without a token, the `Host` must be a name of this machine.
    pub fn check_host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = text(headers, HOST.as_str()).unwrap_or_default();
        let name = host_name(host);
        let is_ours = match name
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>()
        {
            Ok(address) => address.is_loopback() || address == self.listen.ip(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        if is_ours {
            return Ok(());
        }
        Err(ApiError::new(
            Code::ForbiddenOrigin,
            format!(
                "the request is for host `{host}`, which is not this machine; use http://{}, or set \
             server.admin_token to use other names",
                self.listen
            ),
        ))
    }
}

/// Browsers report the origin of a request; other clients send neither header.
pub fn check_origin(headers: &HeaderMap) -> Result<(), ApiError> {
    let host = text(headers, HOST.as_str()).unwrap_or_default();
    let foreign = match (text(headers, "sec-fetch-site"), text(headers, ORIGIN.as_str())) {
        (Some("same-origin" | "none"), _) | (None, None) => false,
        (Some(_), _) => true,
        (None, Some(origin)) => origin.split_once("://").map(|(_, authority)| authority) != Some(host),
    };
    if !foreign {
        return Ok(());
    }
    Err(ApiError::new(
        Code::ForbiddenOrigin,
        "the request comes from a web page of another origin; set server.admin_token and send it",
    ))
}

/// Whether the page that sent the request was loaded over TLS, according to the browser.
pub fn is_from_https(headers: &HeaderMap) -> bool {
    text(headers, ORIGIN.as_str()).is_some_and(|origin| origin.starts_with("https://"))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get(name)
        .map(|value| value.to_str().unwrap_or("unreadable"))
}

/// The name in `name`, `name:port` or `[v6]:port`.
fn host_name(host: &str) -> &str {
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}
