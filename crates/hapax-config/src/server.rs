//! `[server]` and `[store]`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hapax_core::Secret;

use super::encryption::{self, Encryption};
use super::key_server::KeyServer;
use super::limits::listen;
use super::limits::{self, Limits};
use super::network::{self, Network};
use super::oidc::{self, Oidc};
use super::section::Section;
use super::store_url::StoreUrl;
use super::tls::{self, Tls};
use super::tokens::{self, Token};
use hapax_api::size::{format_size, parse_size};

/// The smallest and largest `body_limit`, in bytes.
const BODY_LIMIT: std::ops::RangeInclusive<u64> = 1024..=64 * 1024 * 1024;

/// The shortest and longest `keep_alive`.
const KEEP_ALIVE: std::ops::RangeInclusive<Duration> = Duration::from_secs(30)..=Duration::from_secs(3600);

/// The default interval for running commands that print secrets, and the shortest and longest that can be set.
const SECRET_REFRESH: Duration = Duration::from_secs(5 * 60);
const SECRET_REFRESH_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(24 * 3600);

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

/// A shorter token can be guessed.
pub const ADMIN_TOKEN_BYTES_MIN: usize = 16;

/// The most trusted networks: every request's address is compared with each of them.
const TRUSTED_PROXIES_MAX: usize = 64;

#[derive(Clone, Debug)]
pub struct Store {
    pub url: StoreUrl,
    /// The keys that encrypt the store; `None` if it is not encrypted.
    pub encryption: Option<Encryption>,
}

pub(super) fn read_server(mut section: Section<'_, '_, '_>) -> Server {
    let listen = address(&mut section, "listen", 8080);
    let admin_listen = address(&mut section, "admin_listen", 8081);
    let admin_token = section.secret("admin_token");
    let tokens = tokens::read(&mut section, admin_token.as_ref());
    let body_limit = section.parsed("body_limit", parse_body_limit);
    let keep_alive = section.duration("keep_alive", listen::Limits::default().keep_alive, &KEEP_ALIVE);
    let public_url = section.parsed("public_url", parse_public_url);
    let public_url = public_url.map(|url| url.trim_end_matches('/').to_owned());
    let secret_refresh = section.duration("secret_refresh", SECRET_REFRESH, &SECRET_REFRESH_RANGE);
    let key_server = section.parsed("key_server", str::parse::<KeyServer>);
    let limits = limits::read(&mut section);
    let (tls, admin_tls) = tls::read(&mut section, admin_listen);
    let trusted_proxies = network::read(&mut section, "trusted_proxies", TRUSTED_PROXIES_MAX);
    let oidc = oidc::read(&mut section);
    if same_socket(listen, admin_listen) {
        section.problem(
            "admin_listen",
            format_args!("{admin_listen} is where `listen` takes webhooks ({listen}); use another port"),
        );
    }
    if !admin_listen.ip().to_canonical().is_loopback() {
        check_reachable(&mut section, admin_listen, admin_token.as_ref());
    }
    Server {
        listen,
        admin_listen,
        admin_token,
        tokens,
        body_limit: body_limit.unwrap_or(5 * 1024 * 1024),
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
    if !section.has("admin_token") {
        section.problem(
            "admin_listen",
            format_args!(
                "{admin_listen} can be reached from other machines, and there is no `admin_token`; set one, such as \
                 \"env:HAPAX_ADMIN_TOKEN\", or listen on 127.0.0.1"
            ),
        );
    }
    if token.is_some_and(|token| token.expose().len() < ADMIN_TOKEN_BYTES_MIN) {
        section.problem(
            "admin_token",
            format_args!(
                "{admin_listen} can be reached from other machines, and a token of fewer than \
                 {ADMIN_TOKEN_BYTES_MIN} characters can be guessed; `openssl rand -hex 32` prints a good one"
            ),
        );
    }
}

pub(super) fn read_store(mut section: Section<'_, '_, '_>) -> Store {
    let url = section.reference("url");
    let url = url.and_then(|url| {
        let read = url.expose().parse::<StoreUrl>();
        read.map_err(|error| section.problem("url", error)).ok()
    });
    Store {
        encryption: encryption::read(&mut section),
        url: url.unwrap_or_else(|| StoreUrl::Sqlite(PathBuf::from("hapax.db"))),
    }
}

fn address(section: &mut Section<'_, '_, '_>, name: &str, default_port: u16) -> SocketAddr {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            format!("\"{text}\" is not an address: write IP and port, such as \"127.0.0.1:{default_port}\" or \"0.0.0.0:{default_port}\"")
        })
    };
    section
        .parsed(name, parse)
        .unwrap_or(SocketAddr::from(([127, 0, 0, 1], default_port)))
}

/// Whether the two cannot be bound at the same time. Port 0 is a new free port each time.
fn same_socket(one: SocketAddr, other: SocketAddr) -> bool {
    let overlap = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && overlap
}

pub(super) fn parse_body_limit(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(bytes) if BODY_LIMIT.contains(&bytes) => Ok(bytes),
        Ok(_) => Err(format!(
            "\"{text}\" is not between {} and {}",
            format_size(*BODY_LIMIT.start()),
            format_size(*BODY_LIMIT.end())
        )),
        Err(error) => Err(error.to_string()),
    }
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
