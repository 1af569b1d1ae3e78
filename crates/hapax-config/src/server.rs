//! `[server]` and `[store]`.

use std::net::SocketAddr;
use std::time::Duration;

use hapax_core::Secret;

use super::encryption::{self, ENCRYPTION_KEYS, Encryption};
use super::key_server::KeyServer;
use super::limits::{self, KEEP_ALIVE, LIMITS, Limits};
use super::network::{self, Network};
use super::oidc::{self, Oidc, SERVER_OIDC};
use super::section::Section;
use super::setting::{Key, Size, Table};
use super::store_url::StoreUrl;
use super::tls::{self, SERVER_ADMIN_TLS, SERVER_TLS, Tls};
use super::tokens::{self, ADMIN_TOKEN, ADMIN_TOKEN_BYTES_MIN, TOKENS, Token};

static LISTEN: Key<SocketAddr> = Key::with_default(
    "listen",
    "127.0.0.1:8080",
    "Where webhooks arrive: `POST /in/<source>`.",
);

static ADMIN_LISTEN: Key<SocketAddr> = Key::with_default(
    "admin_listen",
    "127.0.0.1:8081",
    "The admin API, `/metrics`, `/healthz` and `/readyz`. Never the same as `listen`.",
);

/// The smallest and largest `body_limit`, here and of a source.
pub(super) const BODY_LIMIT_RANGE: (&str, &str) = ("1KiB", "64MiB");

static BODY_LIMIT: Key<Size> = Key::with_default(
    "body_limit",
    "5MiB",
    "The largest body taken; a larger one is answered 413. A source may have its own.",
)
.within(BODY_LIMIT_RANGE.0, BODY_LIMIT_RANGE.1);

static PUBLIC_URL: Key<String> = Key::optional(
    "public_url",
    "The URL under which providers reach `listen`; some providers sign it. Never taken from a request. A source may have its own.",
)
.named("URL");

static SECRET_REFRESH: Key<Duration> = Key::with_default(
    "secret_refresh",
    "5m",
    "How often the command of an `exec:` secret is run again. While it fails, its last value stays in use. Files of secrets are looked at every 2 s.",
)
.within("1s", "1d");

static KEY_SERVER: Key<String> = Key::optional(
    "key_server",
    "For tests: a server on this machine from which the keys that providers publish are fetched, instead of from the providers. Each key is at `/<host>/<path>`.",
)
.named("URL");

static SERVER_LIMITS: Key<toml::Table> = Key::with_default(
    "limits",
    "{}",
    "Limits for unauthenticated clients; see `[server.limits]`.",
);

static TRUSTED_PROXIES: Key<Vec<String>> = Key::optional(
    "trusted_proxies",
    "The proxies in front, such as `[\"10.0.0.0/8\"]`; up to 64. The client's address is taken from `X-Forwarded-For` or `Forwarded` only if the connection comes from one of them.",
)
.named("networks");

pub static SERVER: Table = Table {
    header: "[server]",
    help: "The listeners.",
    keys: &[
        &LISTEN,
        &ADMIN_LISTEN,
        &ADMIN_TOKEN,
        &TOKENS,
        &BODY_LIMIT,
        &KEEP_ALIVE,
        &PUBLIC_URL,
        &SECRET_REFRESH,
        &KEY_SERVER,
        &SERVER_LIMITS,
        &SERVER_TLS,
        &SERVER_ADMIN_TLS,
        &TRUSTED_PROXIES,
        &SERVER_OIDC,
    ],
};

static STORE_URL: Key<StoreUrl> = Key::with_default(
    "url",
    "sqlite:hapax.db",
    "`sqlite:PATH`, where a relative path starts at the working directory; or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, for any number of replicas, over TLS with a verified certificate unless the host is this machine or `?sslmode=` says otherwise; or `redis://USER:PASSWORD@HOST:PORT/DATABASE` or `redis-cluster://HOST:PORT,HOST:PORT`, or either with `rediss` for TLS, with `?prefix=` and `shards=`, for very high volume. `env:NAME` and `file:PATH` keep its password out of the file.",
)
.local();

pub static STORE: Table = Table {
    header: "[store]",
    help: "Where events are stored.",
    keys: &[&STORE_URL, &ENCRYPTION_KEYS],
};

/// The service: its listeners, tokens and limits.
#[derive(Clone, Debug)]
pub struct Server {
    /// Receives webhooks.
    pub listen: SocketAddr,
    /// Serves the admin API.
    pub admin_listen: SocketAddr,
    /// The admin API's bearer token.
    pub admin_token: Option<Secret>,
    /// Further tokens, each with a name and a role.
    pub tokens: Vec<Token>,
    /// The largest accepted body, in bytes. A source can override it.
    pub body_limit: u64,
    /// How long a connection is kept open for its next request.
    pub keep_alive: Duration,
    /// The URL at which providers reach us, without a trailing slash.
    pub public_url: Option<String>,
    /// How often commands that print secrets are run again.
    pub secret_refresh: Duration,
    /// For tests: a server on this machine that is asked for keys in place of the providers' servers.
    pub key_server: Option<KeyServer>,
    /// What an unverified client may use.
    pub limits: Limits,
    /// TLS of the webhook listener.
    pub tls: Option<Tls>,
    /// TLS of the admin API.
    pub admin_tls: Option<Tls>,
    /// Proxies that are trusted to name the client they forward for.
    pub trusted_proxies: Vec<Network>,
    /// How people sign in to the dashboard without a token.
    pub oidc: Option<Oidc>,
}

/// The most trusted networks: every request's address is compared with each of them.
const TRUSTED_PROXIES_MAX: usize = 64;

#[derive(Clone, Debug)]
pub struct Store {
    pub url: StoreUrl,
    /// The keys that encrypt the store; `None` if it is not encrypted.
    pub encryption: Option<Encryption>,
}

pub(super) fn read_server(section: &mut Section<'_, '_, '_>) -> Server {
    let listen = section.get(&LISTEN);
    let admin_listen = section.get(&ADMIN_LISTEN);
    let admin_token = section.secret(&ADMIN_TOKEN);
    let tokens = tokens::read(section, admin_token.as_ref());
    let body_limit = section.get(&BODY_LIMIT).0;
    let keep_alive = section.get(&KEEP_ALIVE);
    let public_url = section.parsed(&PUBLIC_URL, parse_public_url);
    let public_url = public_url.map(|url| url.trim_end_matches('/').to_owned());
    if let Some(url) = &public_url {
        section.show(&PUBLIC_URL, url.as_str());
    }
    let secret_refresh = section.get(&SECRET_REFRESH);
    let key_server = section.parsed(&KEY_SERVER, str::parse::<KeyServer>);
    if let Some(server) = &key_server {
        section.show(&KEY_SERVER, server.as_str());
    }
    let mut limits_table = section.inner(&SERVER_LIMITS, &LIMITS);
    let limits = limits::read(&mut limits_table);
    limits_table.close();
    let (tls, admin_tls) = tls::read(section, admin_listen);
    let trusted_proxies = network::read(section, &TRUSTED_PROXIES, TRUSTED_PROXIES_MAX);
    let oidc = oidc::read(section);
    if same_socket(listen, admin_listen) {
        section.problem(
            &ADMIN_LISTEN,
            format_args!("{admin_listen} is where `listen` receives webhooks ({listen}); use another port"),
        );
    }
    if !admin_listen.ip().to_canonical().is_loopback() {
        check_reachable(section, admin_listen, admin_token.as_ref());
    }
    Server {
        listen,
        admin_listen,
        admin_token,
        tokens,
        body_limit,
        keep_alive,
        public_url,
        secret_refresh,
        key_server,
        limits,
        tls,
        admin_tls,
        trusted_proxies,
        oidc,
    }
}

/// An admin listener that other machines can reach is only as safe as its token.
fn check_reachable(section: &mut Section<'_, '_, '_>, admin_listen: SocketAddr, token: Option<&Secret>) {
    if !section.has(&ADMIN_TOKEN) {
        section.problem(
            &ADMIN_LISTEN,
            format_args!(
                "{admin_listen} can be reached from other machines, and there is no `admin_token`; set one, such as \
                 \"env:HAPAX_ADMIN_TOKEN\", or listen on 127.0.0.1"
            ),
        );
    }
    if token.is_some_and(|token| token.expose().len() < ADMIN_TOKEN_BYTES_MIN) {
        section.problem(
            &ADMIN_TOKEN,
            format_args!(
                "{admin_listen} can be reached from other machines, and a token of fewer than \
                 {ADMIN_TOKEN_BYTES_MIN} characters can be guessed; `openssl rand -hex 32` generates one"
            ),
        );
    }
}

pub(super) fn read_store(section: &mut Section<'_, '_, '_>) -> Store {
    let url = section.referenced(&STORE_URL);
    let url = url.unwrap_or_else(|| STORE_URL.default_value());
    section.show(&STORE_URL, url.to_string());
    Store {
        encryption: encryption::read(section),
        url,
    }
}

/// Whether the two cannot be bound at the same time. Port 0 is a new free port each time.
fn same_socket(one: SocketAddr, other: SocketAddr) -> bool {
    let overlap = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && overlap
}

/// A URL that providers call.
pub(super) fn parse_public_url(text: &str) -> Result<String, String> {
    let refused = |why: &str| Err(format!("{why}; write it like \"https://hooks.example.com\""));
    let Ok(uri) = text.parse::<http::Uri>() else {
        return refused("this is not a URL");
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return refused("a public URL begins with http:// or https:// and a host");
    }
    if text.contains(['?', '#', '@']) {
        return refused("a public URL has no query, fragment or user name");
    }
    Ok(text.to_owned())
}
