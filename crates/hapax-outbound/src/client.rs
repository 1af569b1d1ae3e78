//! Connections to others: bounded keep-alive pools, with TLS where the URL asks for it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::connector::GuardedConnector;
use super::guard::{Guard, Rows};
use super::lookup::Lookup;
use super::tls::Tls;
use hapax_config::AllowedTargets;

/// Idle connections kept per host.
const IDLE_CONNECTIONS_MAX: usize = 64;
/// How long an idle connection is kept. Shorter than most servers keep theirs.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// The largest response head, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;

type Pool = legacy::Client<HttpsConnector<GuardedConnector>, Full<Bytes>>;

/// Sends requests. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    pool: Pool,
    lookup: Lookup,
    tls: ClientConfig,
    schemes: Schemes,
    /// The addresses on which this process listens.
    listeners: Vec<SocketAddr>,
}

#[derive(Debug, thiserror::Error)]
#[error("TLS could not be set up: {0}")]
pub struct TlsError(#[from] rustls::Error);

/// The URL schemes that a client accepts.
#[derive(Clone, Copy, Debug)]
enum Schemes {
    HttpOrHttps,
    HttpsOnly,
}

impl Client {
    /// A client that resolves hosts with `lookup`.
    pub fn new(lookup: Lookup) -> Result<Self, TlsError> {
        let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        Self::trusting(roots, lookup, Schemes::HttpOrHttps)
    }

    /// A client that uses only TLS and trusts only these authorities.
    pub fn with_roots(lookup: Lookup, roots: RootCertStore) -> Result<Self, TlsError> {
        Self::trusting(roots, lookup, Schemes::HttpsOnly)
    }

    /// A client for the command line: it calls any address that the operator names.
    ///
    /// # Errors
    /// If TLS cannot be set up, with a message for people.
    pub fn of_operator(tls: &Tls) -> Result<Self, String> {
        Ok(Self::of(
            Lookup::system(),
            Guard::Open,
            tls.config()?,
            Schemes::HttpOrHttps,
        ))
    }

    /// The same client with additional authorities and a separate connection pool.
    pub fn trusting_also(&self, authorities: Vec<CertificateDer<'static>>) -> Result<Self, TlsError> {
        let mut roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        for authority in authorities {
            roots.add(authority)?;
        }
        Self::trusting(roots, self.lookup.clone(), self.schemes)
    }

    fn trusting(roots: RootCertStore, lookup: Lookup, schemes: Schemes) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self::of(lookup, Guard::Configured, tls, schemes))
    }

    fn of(lookup: Lookup, guard: Guard, tls: ClientConfig, schemes: Schemes) -> Self {
        Self {
            pool: pool(lookup.clone(), guard, tls.clone(), schemes),
            lookup,
            tls,
            schemes,
            listeners: Vec::new(),
        }
    }

    /// Sets the addresses on which this process listens.
    #[must_use]
    pub fn listening_on(mut self, listeners: Vec<SocketAddr>) -> Self {
        self.listeners = listeners;
        self
    }

    /// A client for the URLs in an outbox's rows. It has its own pool, because a connection that was opened for a
    /// configured destination may lead to an address that rows must not reach.
    #[must_use]
    pub fn for_rows(&self, outbox: &str, allowed: &AllowedTargets) -> Self {
        let guard = Guard::Rows(Arc::new(Rows {
            outbox: outbox.to_owned(),
            allowed: allowed.clone(),
            listeners: self.listeners.clone(),
        }));
        Self {
            pool: pool(self.lookup.clone(), guard, self.tls.clone(), self.schemes),
            ..self.clone()
        }
    }

    pub fn request(
        &self,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = Result<Response<Incoming>, legacy::Error>> + use<> {
        self.pool.request(request)
    }
}

fn pool(lookup: Lookup, guard: Guard, tls: ClientConfig, schemes: Schemes) -> Pool {
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls);
    let builder = match schemes {
        Schemes::HttpOrHttps => builder.https_or_http(),
        Schemes::HttpsOnly => builder.https_only(),
    };
    let connector = builder
        .enable_http1()
        .wrap_connector(GuardedConnector { lookup, guard });
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .http1_max_buf_size(HEAD_BYTES_MAX)
        .build(connector)
}
