//! TLS of a listener: the certificate, the key and the client authorities, replaced as one while connections arrive.
//!
//! Files are compared by content, because renewals replace links and mounts whose timestamps are meaningless. A
//! certificate and key that do not match are not used: the files change one after the other, and the old pair is served
//! until both are new.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{InconsistentKeys, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::debt::Debt;
use hapax_config as config;
use hapax_telemetry::TlsMeter;

/// The ALPN protocol of a client that uses HTTP/2.
pub(super) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
/// The first byte of every TLS connection: the type of a handshake record.
pub(super) const FIRST_BYTE: u8 = 0x16;
/// Failed handshakes are logged at most once in this time, after a burst of ten.
const LOG_EVERY: Duration = Duration::from_secs(1);
const LOG_BURST: Duration = Duration::from_secs(10);
/// The largest file. A bundle of all public authorities is a quarter of this.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The certificate that a listener presents, and the clients that it admits. Clones share the same state.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    files: config::Tls,
    current: ArcSwap<Generation>,
    /// The contents of the files when they were last tried; `None` if they could not be read. Contents that were
    /// refused are not tried or reported again until they change.
    tried: Mutex<Option<Contents>>,
    meter: TlsMeter,
    /// Throttles log lines about failed handshakes, so that a flood of them cannot fill the log.
    logged: Mutex<Debt>,
}

/// The contents of the files at one time, as served.
struct Generation {
    config: Arc<ServerConfig>,
    client_ca: Option<Vec<u8>>,
    /// Cancelled when the client authorities change, to end the connections that the old ones admitted.
    retired: CancellationToken,
}

/// Why the files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("`{key}`: {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file's key in the configuration.
        key: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A file does not contain the expected PEM data.
    #[error("`{key}`: {} contains no {expected} in PEM format", path.display())]
    NotPem {
        /// The file's key in the configuration.
        key: &'static str,
        path: PathBuf,
        expected: &'static str,
    },
    /// The certificate and the key do not match.
    #[error("the key in {} does not belong to the certificate in {}; replace both", key.display(), cert.display())]
    Mismatch { cert: PathBuf, key: PathBuf },
    /// Any other reason.
    #[error("certificate {} and key {} cannot be used: {message}", cert.display(), key.display())]
    Unusable {
        cert: PathBuf,
        key: PathBuf,
        message: String,
    },
}

/// The result of reading the files again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    Unchanged,
    /// The new contents are used from the next connection on.
    Renewed,
}

impl Tls {
    /// Reads the files; `meter` counts reloads and failed handshakes.
    pub fn load(files: config::Tls, meter: TlsMeter) -> Result<Self, TlsError> {
        let contents = Contents::read(&files)?;
        Ok(Self(Arc::new(Shared {
            current: ArcSwap::from_pointee(contents.compile(&files)?),
            tried: Mutex::new(Some(contents)),
            files,
            meter,
            logged: Mutex::default(),
        })))
    }

    /// Reads the files again and serves their contents. If they cannot be used, the previous contents are still served;
    /// the error is returned once.
    pub fn refresh(&self) -> Result<Refreshed, TlsError> {
        let refreshed = self.take_over();
        match refreshed {
            Ok(Refreshed::Unchanged) => {}
            Ok(Refreshed::Renewed) => _ = self.0.meter.reloaded.inc(),
            Err(_) => _ = self.0.meter.reload_failed.inc(),
        }
        refreshed
    }

    fn take_over(&self) -> Result<Refreshed, TlsError> {
        let Shared {
            files,
            tried,
            current,
            ..
        } = &*self.0;
        let mut tried = tried.lock();
        let contents = match Contents::read(files) {
            Ok(contents) if tried.as_ref() == Some(&contents) => return Ok(Refreshed::Unchanged),
            Ok(contents) => tried.insert(contents),
            Err(_) if tried.is_none() => return Ok(Refreshed::Unchanged),
            Err(error) => {
                *tried = None;
                return Err(error);
            }
        };
        let old = current.swap(Arc::new(contents.compile(files)?));
        if old.client_ca != contents.client_ca {
            old.retired.cancel();
        }
        Ok(Refreshed::Renewed)
    }

    /// Performs the handshake before `deadline`; `None` if it fails. The token is cancelled when the client would no
    /// longer be admitted.
    pub(super) async fn accept(
        &self,
        socket: TcpStream,
        deadline: Instant,
    ) -> Option<(Box<TlsStream<TcpStream>>, CancellationToken)> {
        let generation = self.0.current.load_full();
        let peer = socket.peer_addr().map(|address| address.ip());
        let handshake = TlsAcceptor::from(Arc::clone(&generation.config)).accept(socket);
        let failure = match timeout_at(deadline, handshake).await {
            Ok(Ok(stream)) => return Some((Box::new(stream), generation.retired.clone())),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it was not complete in time".to_owned(),
        };
        self.0.meter.handshake_failed.inc();
        if self.may_log() {
            tracing::info!(peer = ?peer.ok(), error = failure, "TLS handshake failed");
        }
        None
    }

    fn may_log(&self) -> bool {
        let now = Instant::now();
        let mut logged = self.0.logged.lock();
        let is_paid_off = logged.owed(now) < LOG_BURST;
        if is_paid_off {
            logged.charge(LOG_EVERY, LOG_BURST, now);
        }
        is_paid_off
    }
}

/// The contents of the files.
#[derive(PartialEq, Eq)]
struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl Contents {
    fn read(files: &config::Tls) -> Result<Self, TlsError> {
        let client_ca = files.client_ca.as_deref();
        Ok(Self {
            cert: read("cert", &files.cert)?,
            key: read("key", &files.key)?,
            client_ca: client_ca.map(|path| read("client_ca", path)).transpose()?,
        })
    }

    fn compile(&self, files: &config::Tls) -> Result<Generation, TlsError> {
        let unusable = |error: &dyn std::fmt::Display| TlsError::Unusable {
            cert: files.cert.clone(),
            key: files.key.clone(),
            message: error.to_string(),
        };
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?;
        let builder = match (&self.client_ca, &files.client_ca) {
            (Some(bytes), Some(path)) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates("client_ca", path, bytes)? {
                    roots.add(authority).map_err(|error| unusable(&error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| unusable(&error))?)
            }
            _ => builder.with_no_client_auth(),
        };
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| TlsError::NotPem {
            key: "key",
            path: files.key.clone(),
            expected: "private key",
        })?;
        let chain = certificates("cert", &files.cert, &self.cert)?;
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::Mismatch {
                    cert: files.cert.clone(),
                    key: files.key.clone(),
                },
                other => unusable(&other),
            })?;
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        if self.client_ca.is_some() {
            // A resumed session would skip the check of the client's certificate for up to a day.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Generation {
            config: Arc::new(config),
            client_ca: self.client_ca.clone(),
            retired: CancellationToken::new(),
        })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Tls").field(&self.0.files).finish()
    }
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes))
        .map_err(|source| TlsError::Unreadable {
            key,
            path: path.to_owned(),
            source,
        })?;
    Ok(bytes)
}

fn certificates(
    key: &'static str,
    path: &Path,
    bytes: &[u8],
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    found
        .ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| TlsError::NotPem {
            key,
            path: path.to_owned(),
            expected: "certificate",
        })
}
