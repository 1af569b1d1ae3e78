//! Who may use the admin API: whoever has the token; without one, only this machine.
//!
//! A server that listens on loopback without a token is still in reach of every web page that the
//! operator's browser opens. Two checks close that: the `Host` must be a loopback name or the admin
//! address itself, which a page that rebinds its own DNS name cannot claim; and a request that
//! changes something must not come from a page of another origin.

use std::net::{IpAddr, SocketAddr};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hapax_core::Secret;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method};

use super::fault::Fault;
use super::state::AdminState;

/// The header in which a client says who acts; it is recorded in the audit trail.
pub const ACTOR_HEADER: &str = "hapax-actor";
/// Longest name that the audit trail takes from a client.
const ACTOR_BYTES_MAX: usize = 128;

/// What the configuration says about access.
#[derive(Clone, Debug)]
pub struct Access {
    /// The token; none only where the admin address is loopback.
    pub token: Option<Secret>,
    /// The admin address.
    pub listen: SocketAddr,
}

/// The middleware in front of every path under `/api/v1`.
pub(super) async fn guard(State(state): State<AdminState>, request: Request, next: Next) -> Response {
    let verdict = state
        .settings
        .load()
        .access
        .check(request.method(), request.headers());
    match verdict {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    }
}

impl Access {
    fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Fault> {
        if let Some(token) = &self.token {
            return check_token(token, headers);
        }
        self.check_host(headers)?;
        if method.is_safe() {
            Ok(())
        } else {
            check_origin(headers)
        }
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let host = headers
            .get(HOST)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
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
        Err(Fault::forbidden_origin(format!(
            "the request asks for host `{host}`, which is not this machine; use http://{}, or set \
             server.admin_token to use other names",
            self.listen
        )))
    }
}

/// Who acts, for the audit trail: what the client says, else how it was let in.
#[derive(Clone, Debug)]
pub(super) struct Actor(pub(super) String);

impl FromRequestParts<AdminState> for Actor {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, Fault> {
        let Some(value) = parts.headers.get(ACTOR_HEADER) else {
            let by = if state.settings.load().access.token.is_some() {
                "token"
            } else {
                "local"
            };
            return Ok(Self(by.to_owned()));
        };
        let name = std::str::from_utf8(value.as_bytes()).unwrap_or_default().trim();
        if name.is_empty() || name.len() > ACTOR_BYTES_MAX || name.chars().any(char::is_control) {
            return Err(Fault::invalid_parameter(format!(
                "`{ACTOR_HEADER}` has to be a name of at most {ACTOR_BYTES_MAX} bytes without control characters"
            )));
        }
        Ok(Self(name.to_owned()))
    }
}

fn check_token(token: &Secret, headers: &HeaderMap) -> Result<(), Fault> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Err(Fault::unauthorized(
            "send `Authorization: Bearer TOKEN` with server.admin_token's value",
        ));
    };
    let given = bearer(value.as_bytes()).unwrap_or_default();
    // The comparison takes as long for a near miss as for a wild guess.
    verify_slices_are_equal(given, token.expose().as_bytes())
        .map_err(|_| Fault::unauthorized("the token is not the one in server.admin_token"))
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| token.trim_ascii())
}

/// A browser says where a request comes from; other clients send neither header.
fn check_origin(headers: &HeaderMap) -> Result<(), Fault> {
    let text = |name: &str| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or("unreadable"))
    };
    let host = text(HOST.as_str()).unwrap_or_default();
    let foreign = match (text("sec-fetch-site"), text(ORIGIN.as_str())) {
        (Some("same-origin" | "none"), _) | (None, None) => false,
        (Some(_), _) => true,
        (None, Some(origin)) => origin.split_once("://").map(|(_, authority)| authority) != Some(host),
    };
    if !foreign {
        return Ok(());
    }
    Err(Fault::forbidden_origin(
        "the request comes from a web page of another origin; set server.admin_token and send it",
    ))
}

/// The name in `name`, `name:port` or `[v6]:port`.
fn host_name(host: &str) -> &str {
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn open() -> Access {
        Access {
            token: None,
            listen: "127.0.0.1:8081".parse().unwrap(),
        }
    }

    #[test]
    fn without_a_token_only_names_of_this_machine_are_answered() {
        for host in [
            "localhost",
            "LOCALHOST:8081",
            "127.0.0.1:8081",
            "127.9.9.9",
            "[::1]:8081",
            "[::1]",
        ] {
            assert_eq!(
                open().check(&Method::GET, &headers(&[("host", host)])),
                Ok(()),
                "{host}"
            );
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8081",
            "10.0.0.1",
            "[::2]",
        ] {
            let fault = open()
                .check(&Method::GET, &headers(&[("host", host)]))
                .unwrap_err();
            assert_eq!(fault.code(), "forbidden_origin", "{host}");
        }
    }

    #[test]
    fn without_a_token_a_page_of_another_origin_changes_nothing() {
        let host = ("host", "localhost:8081");
        let refused = [
            [host, ("origin", "https://evil.example")],
            [host, ("origin", "null")],
            [host, ("origin", "http://localhost:3000")],
            [host, ("sec-fetch-site", "cross-site")],
            [host, ("sec-fetch-site", "same-site")],
        ];
        for pairs in refused {
            let fault = open().check(&Method::POST, &headers(&pairs)).unwrap_err();
            assert_eq!(fault.code(), "forbidden_origin", "{pairs:?}");
        }
        let allowed = [
            vec![host],
            vec![host, ("origin", "http://localhost:8081")],
            vec![
                host,
                ("origin", "http://localhost:8081"),
                ("sec-fetch-site", "same-origin"),
            ],
        ];
        for pairs in allowed {
            assert_eq!(
                open().check(&Method::DELETE, &headers(&pairs)),
                Ok(()),
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn with_a_token_nothing_else_opens() {
        let access = Access {
            token: Some(Secret::new("right")),
            ..open()
        };
        let check = |pairs: &[(&'static str, &str)]| access.check(&Method::GET, &headers(pairs));
        assert_eq!(check(&[("authorization", "Bearer right")]), Ok(()));
        assert_eq!(
            check(&[("authorization", "bearer right"), ("host", "anything")]),
            Ok(())
        );
        for value in [
            "Bearer wrong",
            "Bearer righ",
            "Bearer rightt",
            "Bearer ",
            "Basic right",
            "right",
            "",
        ] {
            assert_eq!(
                check(&[("authorization", value)]).unwrap_err().code(),
                "unauthorized",
                "{value}"
            );
        }
        assert_eq!(
            check(&[("host", "localhost")]).unwrap_err().code(),
            "unauthorized"
        );
    }
}
