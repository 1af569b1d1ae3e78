//! Who may use the admin port: callers with a token, or with a session opened by a token or an identity provider.
//! Without a configured token, only this machine.
//!
//! An admitted request has a [`Caller`]: `rights` is the one table of what its role may do, and [`VisibleSources`] are
//! the sources that it sees. `admission` applies both.
//!
//! A server that listens on loopback without a token can still be reached by every web page that the operator's
//! browser opens. Two checks prevent that: the `Host` must be a loopback name or the admin address itself, which a
//! page that rebinds its own DNS name cannot claim; and a request that changes something must not come from a page of
//! another origin.
//!
//! A session is for the dashboard's pages. On the API it allows only reads (the live tail is read by a script, which
//! does not know the token). A change requires a token, or a form of a page with its own proof.

mod backoff;
mod caller;
mod credential;
mod gate;
mod oidc;
mod opener;
mod origin;
mod random;
mod rights;
mod session;
mod token;
mod visible;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hapax_core::{Backend, Secret, Timestamp};
use http::header::AUTHORIZATION;
use http::{Extensions, HeaderMap, Method};

use super::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;
use hapax_config::{Oidc, Role, Token};
use hapax_listen::Peer;

pub use caller::{Caller, checked_note};
use credential::Credential;
pub(crate) use gate::Gate;
pub use oidc::IdentityProvider;
pub use oidc::{ATTEMPT_LIFE_SECONDS, Attempt, Returned};
pub use origin::{check_origin, is_from_https};
pub use rights::RIGHTS;
pub(crate) use rights::{Right, right_for};
pub use session::{COOKIE_NAME, SESSION_LIFE, Session, cookie};
pub use visible::VisibleSources;

/// Maximum length of a note from a client in the audit trail.
pub const NOTE_BYTES_MAX: usize = 128;
/// The name of `server.admin_token` in the audit trail.
const ADMIN: &str = "admin";

/// The access settings.
#[derive(Clone, Debug)]
pub struct Access {
    /// Every token, the admin token first. Empty only if the admin address is loopback.
    tokens: Vec<Token>,
    pub listen: SocketAddr,
    /// Sign-in without a token.
    oidc: Option<Arc<Oidc>>,
}

/// The address that a request comes from; unspecified if the listener does not report it.
pub fn peer(extensions: &Extensions) -> IpAddr {
    let unknown = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    extensions.get::<Peer>().map_or(unknown, |peer| peer.0)
}

/// The parts of a request that admission depends on.
#[derive(Clone, Copy)]
pub(crate) struct CallerRequest<'a> {
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) from: IpAddr,
}

impl Access {
    /// With the admin token and further tokens.
    pub fn new(admin_token: Option<Secret>, tokens: Vec<Token>, listen: SocketAddr) -> Self {
        let admin = admin_token.map(|token| Token {
            name: ADMIN.to_owned(),
            token,
            role: Role::Admin,
            sources: None,
        });
        Self {
            tokens: admin.into_iter().chain(tokens).collect(),
            listen,
            oidc: None,
        }
    }

    /// With an identity provider for sign-in.
    #[must_use]
    pub fn with_oidc(mut self, oidc: Option<Oidc>) -> Self {
        self.oidc = oidc.map(Arc::new);
        self
    }

    /// The identity provider for sign-in, if configured.
    pub const fn oidc(&self) -> Option<&Arc<Oidc>> {
        self.oidc.as_ref()
    }

    /// Whether callers on this machine need no token.
    pub const fn is_open(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Identifies the caller.
    pub(crate) async fn admit(
        &self,
        gate: &Gate,
        store: &dyn Backend,
        asked: CallerRequest<'_>,
    ) -> ApiResult<Caller> {
        let note = caller::note(asked.headers)?;
        if self.is_open() {
            self.check_local(asked.method, asked.headers)?;
            return Ok(Caller::local(note));
        }
        if let Some(value) = asked.headers.get(AUTHORIZATION) {
            let given = token::bearer(value.as_bytes()).unwrap_or_default();
            let token = gate.try_token(self, given, asked.from)?;
            return Ok(Caller::of(token, note));
        }
        let session = if asked.method.is_safe() {
            gate.session(self, store, asked.headers).await?
        } else {
            None
        };
        session.map(|opened| opened.caller).ok_or_else(|| {
            ApiError::new(
                Code::Unauthorized,
                "send `Authorization: Bearer TOKEN` with server.admin_token's value, or a token of [[server.tokens]]",
            )
        })
    }

    /// The caller that the same credential would admit now.
    pub(crate) async fn again(
        &self,
        store: &dyn Backend,
        credential: &Credential,
        now: Timestamp,
    ) -> ApiResult<Option<Caller>> {
        match credential {
            Credential::None => Ok(self.is_open().then(|| Caller::local(String::new()))),
            Credential::Token(given) => {
                let token = self.token_of(given.expose().as_bytes());
                Ok(token.map(|token| Caller::of(token, String::new())))
            }
            Credential::Session(cookie) => {
                let found = session::look(self, store, cookie.expose(), now).await?;
                Ok(found.map(|(_, caller)| caller))
            }
        }
    }

    fn check_local(&self, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
        self.check_host(headers)?;
        if method.is_safe() {
            Ok(())
        } else {
            check_origin(headers)
        }
    }
}

#[cfg(test)]
mod tests {
    use hapax_core::SystemClock;
    use hapax_store_sqlite::{Options, SqliteStore};

    use super::*;
    use hapax_api::NOTE_HEADER;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    /// The access settings, their in-memory state, and the store of the sessions.
    struct Door {
        access: Access,
        gate: Gate,
        store: SqliteStore,
        _folder: tempfile::TempDir,
    }

    impl Door {
        fn open() -> Self {
            Self::with(None, Vec::new())
        }

        fn locked() -> Self {
            Self::with(Some(Secret::new("right")), Vec::new())
        }

        fn with(admin: Option<Secret>, tokens: Vec<Token>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let options = Options::new(Arc::new(SystemClock::default()));
            Self {
                access: Access::new(admin, tokens, "127.0.0.1:8081".parse().unwrap()),
                gate: Gate::new(Arc::new(SystemClock::default())),
                store: SqliteStore::open(&folder.path().join("hapax.db"), options).unwrap(),
                _folder: folder,
            }
        }

        async fn ask_from(&self, from: IpAddr, method: &Method, headers: &HeaderMap) -> ApiResult<Caller> {
            let asked = CallerRequest {
                method,
                headers,
                from,
            };
            self.access.admit(&self.gate, &self.store, asked).await
        }

        /// The name of the admitted caller, or the code of the refusal.
        async fn ask(&self, method: &Method, pairs: &[(&'static str, &str)]) -> String {
            match self.ask_from(HERE, method, &headers(pairs)).await {
                Ok(caller) => caller.actor.name,
                Err(fault) => fault.code().to_string(),
            }
        }

        async fn sign_in(&self) -> String {
            let signed_in = self
                .gate
                .sign_in(&self.access, &self.store, "right", String::new(), HERE);
            format!("{COOKIE_NAME}={}", signed_in.await.unwrap())
        }
    }

    #[tokio::test]
    async fn without_a_token_only_names_of_this_machine_are_answered() {
        let door = Door::open();
        for host in [
            "localhost",
            "LOCALHOST:8081",
            "127.0.0.1:8081",
            "127.9.9.9",
            "[::1]:8081",
            "[::1]",
        ] {
            assert_eq!(door.ask(&Method::GET, &[("host", host)]).await, "local", "{host}");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8081",
            "10.0.0.1",
            "[::2]",
        ] {
            let refused = door.ask(&Method::GET, &[("host", host)]).await;
            assert_eq!(refused, "forbidden_origin", "{host}");
        }
    }

    #[tokio::test]
    async fn without_a_token_a_page_of_another_origin_changes_nothing() {
        let door = Door::open();
        let host = ("host", "localhost:8081");
        let refused = [
            [host, ("origin", "https://evil.example")],
            [host, ("origin", "null")],
            [host, ("origin", "http://localhost:3000")],
            [host, ("sec-fetch-site", "cross-site")],
            [host, ("sec-fetch-site", "same-site")],
        ];
        for pairs in refused {
            assert_eq!(
                door.ask(&Method::POST, &pairs).await,
                "forbidden_origin",
                "{pairs:?}"
            );
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
            assert_eq!(door.ask(&Method::DELETE, &pairs).await, "local", "{pairs:?}");
        }
    }

    #[tokio::test]
    async fn with_a_token_nothing_else_opens() {
        let door = Door::locked();
        for value in ["Bearer right", "bearer right"] {
            let pairs = [("authorization", value), ("host", "anything")];
            assert_eq!(door.ask(&Method::GET, &pairs).await, "admin");
        }
        for value in [
            "Bearer wrong",
            "Bearer righ",
            "Bearer rightt",
            "Bearer ",
            "Basic right",
            "right",
            "",
        ] {
            let door = Door::locked();
            let refused = door.ask(&Method::GET, &[("authorization", value)]).await;
            assert_eq!(refused, "unauthorized", "{value}");
        }
        let nothing = door.ask(&Method::GET, &[("host", "localhost")]).await;
        assert_eq!(nothing, "unauthorized");
    }

    #[tokio::test]
    async fn a_role_may_do_what_the_roles_below_it_may() {
        let tokens = [("reader", Role::Read), ("operator", Role::Operate)].map(|(name, role)| Token {
            name: name.to_owned(),
            token: Secret::new(name),
            role,
            sources: None,
        });
        let door = Door::with(Some(Secret::new("right")), tokens.into());
        let may = async |token: &str, method: Method, path: &str| {
            let bearer = headers(&[("authorization", &format!("Bearer {token}"))]);
            let caller = door.ask_from(HERE, &method, &bearer).await.unwrap();
            caller.check(&method, path).map_err(|fault| fault.code())
        };
        let (look, pause, forget) = ("/events", "/destinations/a/pause", "/ledger/a/b");
        for token in ["reader", "operator", "right"] {
            assert_eq!(may(token, Method::GET, look).await, Ok(()));
        }
        for token in ["operator", "right"] {
            assert_eq!(may(token, Method::POST, pause).await, Ok(()));
        }
        assert_eq!(may("reader", Method::POST, pause).await, Err(Code::RoleTooLow));
        assert_eq!(
            may("operator", Method::DELETE, forget).await,
            Err(Code::RoleTooLow)
        );
        assert_eq!(may("right", Method::DELETE, forget).await, Ok(()));
    }

    #[tokio::test]
    async fn a_session_opens_what_only_reads_and_never_what_changes() {
        let door = Door::locked();
        let cookie = door.sign_in().await;
        assert_eq!(door.ask(&Method::GET, &[("cookie", &cookie)]).await, "admin");
        assert_eq!(
            door.ask(&Method::POST, &[("cookie", &cookie)]).await,
            "unauthorized"
        );
    }

    #[tokio::test]
    async fn a_note_is_short_and_can_be_read() {
        let door = Door::open();
        let long = "x".repeat(NOTE_BYTES_MAX + 1);
        for (note, expected) in [("ada", "local"), (long.as_str(), "invalid_parameter")] {
            let pairs = [("host", "localhost"), (NOTE_HEADER, note)];
            assert_eq!(door.ask(&Method::GET, &pairs).await, expected, "{note}");
        }
    }

    #[tokio::test]
    async fn an_address_that_guesses_is_told_to_wait_and_its_sessions_go_on() {
        let door = Door::locked();
        let cookie = door.sign_in().await;
        for _ in 0..6 {
            let refused = door.ask(&Method::GET, &[("authorization", "Bearer wrong")]).await;
            assert_eq!(refused, "unauthorized");
        }
        let right = [("authorization", "Bearer right")];
        assert_eq!(door.ask(&Method::GET, &right).await, "too_many_attempts");
        assert_eq!(door.ask(&Method::GET, &[("cookie", &cookie)]).await, "admin");
        let elsewhere = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        assert!(
            door.ask_from(elsewhere, &Method::GET, &headers(&right))
                .await
                .is_ok()
        );
    }
}
