//! The connections to destinations: one bounded keep-alive pool, TLS where the URL asks for it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::resolver::{GuardedResolver, Lookup};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle connections that are kept to one host.
const IDLE_CONNECTIONS_MAX: usize = 64;
/// How long an idle connection is kept: shorter than most servers keep theirs.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of the head of an answer.
const HEAD_BYTES_MAX: usize = 64 * 1024;

type Connector = HttpsConnector<HttpConnector<GuardedResolver>>;

/// Sends requests. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client(legacy::Client<Connector, Full<Bytes>>);

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("TLS could not be set up: {0}")]
pub struct TlsError(#[from] rustls::Error);

impl Client {
    /// A client that finds hosts with `lookup`.
    pub fn new(lookup: Lookup) -> Result<Self, TlsError> {
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::aws_lc_rs::default_provider())?
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp(lookup));
        Ok(Self::over(connector))
    }

    /// A client for TLS alone, that believes these authorities and no others.
    pub(crate) fn with_roots(lookup: Lookup, roots: rustls::RootCertStore) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls);
        Ok(Self::over(
            builder.https_only().enable_http1().wrap_connector(tcp(lookup)),
        ))
    }

    fn over(connector: Connector) -> Self {
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .http1_max_buf_size(HEAD_BYTES_MAX)
            .build(connector);
        Self(client)
    }

    pub(crate) fn request(
        &self,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = Result<Response<Incoming>, legacy::Error>> + use<> {
        self.0.request(request)
    }
}

fn tcp(lookup: Lookup) -> HttpConnector<GuardedResolver> {
    let mut http = HttpConnector::new_with_resolver(GuardedResolver::new(lookup));
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http
}
