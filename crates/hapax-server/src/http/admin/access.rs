//! Who may use the admin port: whoever has a token, or a session that one opened; without one, only this machine.
//!
//! A server that listens on loopback without a token is still in reach of every web page that the
//! operator's browser opens. Two checks close that: the `Host` must be a loopback name or the admin
//! address itself, which a page that rebinds its own DNS name cannot claim; and a request that
//! changes something must not come from a page of another origin.
//!
//! A session is for the dashboard's pages. On the API it opens what only reads (the live tail is read by a script,
//! which cannot know the token), never what changes: that takes a token, or a form of a page with its own proof.

mod backoff;
mod gate;
mod origin;
mod role;
mod session;
mod token;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hapax_core::Secret;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Extensions, HeaderMap, Method};

use super::fault::Fault;
use super::state::AdminState;
use crate::http::listen::Peer;

pub(in crate::http) use gate::Gate;
pub(in crate::http) use origin::{check_origin, is_from_https};
pub(in crate::http) use role::Role;
pub(in crate::http) use session::{COOKIE_NAME, NAME_BYTES_MAX, SESSION_LIFE, Session, cookie};

/// The header in which a client says who acts; it is recorded in the audit trail.
pub const ACTOR_HEADER: &str = "hapax-actor";
/// Longest name that the audit trail takes from a client.
const ACTOR_BYTES_MAX: usize = 128;

/// What the configuration says about access.
#[derive(Clone, Debug)]
pub struct Access {
    /// The token; none only where the admin address is loopback.
    pub token: Option<Secret>,
    /// Tokens that open what only reads.
    pub read_tokens: Vec<Secret>,
    /// The admin address.
    pub listen: SocketAddr,
}

/// The middleware in front of every path under `/api/v1`.
pub(super) async fn guard(State(state): State<AdminState>, request: Request, next: Next) -> Response {
    let access = &state.settings.load().access;
    let from = peer(request.extensions());
    match access.check(&state.gate, request.method(), request.headers(), from) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    }
}

/// The address that a request comes from; one that nobody has where the listener does not say.
pub(in crate::http) fn peer(extensions: &Extensions) -> IpAddr {
    let unknown = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    extensions.get::<Peer>().map_or(unknown, |peer| peer.0)
}

impl Access {
    fn check(&self, gate: &Gate, method: &Method, headers: &HeaderMap, from: IpAddr) -> Result<(), Fault> {
        if self.token.is_none() {
            return self.check_local(method, headers);
        }
        let role = match headers.get(AUTHORIZATION) {
            Some(value) => {
                let given = token::bearer(value.as_bytes()).unwrap_or_default();
                gate.try_token(self, given, from)?
            }
            None => self.session_role(gate, method, headers)?,
        };
        match role {
            Role::ReadOnly if !method.is_safe() => Err(Fault::read_only()),
            Role::Admin | Role::ReadOnly => Ok(()),
        }
    }

    /// What a request that was let in may do.
    fn role(&self, gate: &Gate, headers: &HeaderMap, from: IpAddr) -> Result<Role, Fault> {
        if self.token.is_none() {
            return Ok(Role::Admin);
        }
        match headers.get(AUTHORIZATION) {
            Some(value) => gate.try_token(self, token::bearer(value.as_bytes()).unwrap_or_default(), from),
            None => self.session_role(gate, &Method::GET, headers),
        }
    }

    fn check_local(&self, method: &Method, headers: &HeaderMap) -> Result<(), Fault> {
        self.check_host(headers)?;
        if method.is_safe() {
            Ok(())
        } else {
            check_origin(headers)
        }
    }

    fn session_role(&self, gate: &Gate, method: &Method, headers: &HeaderMap) -> Result<Role, Fault> {
        let session = gate.session(self, headers).filter(|_| method.is_safe());
        session.map(|opened| opened.role).ok_or_else(|| {
            Fault::unauthorized("send `Authorization: Bearer TOKEN` with server.admin_token's value")
        })
    }
}

/// Who asks, where what is answered depends on what they may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking(pub(super) Role);

impl FromRequestParts<AdminState> for Asking {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, Fault> {
        let access = &state.settings.load().access;
        access
            .role(&state.gate, &parts.headers, peer(&parts.extensions))
            .map(Self)
    }
}

/// Who acts, for the audit trail: what the client says, else how it was let in.
#[derive(Clone, Debug)]
pub(in crate::http) struct Actor(pub(in crate::http) String);

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

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn open() -> Access {
        Access {
            token: None,
            read_tokens: Vec::new(),
            listen: "127.0.0.1:8081".parse().unwrap(),
        }
    }

    /// Behind a gate that has seen nothing.
    fn check(access: &Access, method: &Method, headers: &HeaderMap) -> Result<(), Fault> {
        access.check(&Gate::new(), method, headers, HERE)
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
                check(&open(), &Method::GET, &headers(&[("host", host)])),
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
            let fault = check(&open(), &Method::GET, &headers(&[("host", host)])).unwrap_err();
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
            let fault = check(&open(), &Method::POST, &headers(&pairs)).unwrap_err();
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
                check(&open(), &Method::DELETE, &headers(&pairs)),
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
        let check =
            |pairs: &[(&'static str, &str)]| super::tests::check(&access, &Method::GET, &headers(pairs));
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

    #[test]
    fn a_read_token_opens_what_only_reads() {
        let access = Access {
            token: Some(Secret::new("right")),
            read_tokens: vec![Secret::new("reader"), Secret::new("second")],
            ..open()
        };
        for token in ["reader", "second"] {
            let bearer = headers(&[("authorization", &format!("Bearer {token}"))]);
            for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
                assert_eq!(check(&access, &method, &bearer), Ok(()));
            }
            for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
                assert_eq!(check(&access, &method, &bearer).unwrap_err().code(), "read_only");
            }
        }
    }

    #[test]
    fn a_session_opens_what_only_reads_and_never_what_changes() {
        let access = Access {
            token: Some(Secret::new("right")),
            ..open()
        };
        let gate = Gate::new();
        let cookie = gate.sign_in(&access, "right", "Ada", HERE).unwrap();
        let with = headers(&[("cookie", &format!("{COOKIE_NAME}={cookie}"))]);
        assert_eq!(access.check(&gate, &Method::GET, &with, HERE), Ok(()));
        let refused = access.check(&gate, &Method::POST, &with, HERE).unwrap_err();
        assert_eq!(refused.code(), "unauthorized");
    }

    #[test]
    fn an_address_that_guesses_is_told_to_wait_and_its_sessions_go_on() {
        let access = Access {
            token: Some(Secret::new("right")),
            ..open()
        };
        let gate = Gate::new();
        let cookie = gate.sign_in(&access, "right", "", HERE).unwrap();
        let bearer = |token: &str| headers(&[("authorization", &format!("Bearer {token}"))]);
        for _ in 0..6 {
            let refused = access
                .check(&gate, &Method::GET, &bearer("wrong"), HERE)
                .unwrap_err();
            assert_eq!(refused.code(), "unauthorized");
        }
        let refused = access
            .check(&gate, &Method::GET, &bearer("right"), HERE)
            .unwrap_err();
        assert_eq!(refused.code(), "too_many_attempts");
        let session = headers(&[("cookie", &format!("{COOKIE_NAME}={cookie}"))]);
        assert_eq!(access.check(&gate, &Method::GET, &session, HERE), Ok(()));
        let elsewhere = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        assert_eq!(
            access.check(&gate, &Method::GET, &bearer("right"), elsewhere),
            Ok(())
        );
    }
}
