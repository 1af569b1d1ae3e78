//! TLS of a listener: certificate, key and the authorities of its clients, all swapped as one while connections come in.
//!
//! Files are compared by content, because renewals swap links and mounts whose times say nothing. A pair that does not
//! fit together is not taken: the files change one after the other, and the old pair serves until both are there.

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
use tokio_util::sync::CancellationToken;

use super::stream::Stream;
use crate::debt::Debt;
use hapax_config as config;
use hapax_telemetry::TlsMeter;

/// What a client asks for by ALPN when it speaks HTTP/2.
pub(super) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
/// The first byte of every TLS connection: the type of a handshake record.
pub(super) const FIRST_BYTE: u8 = 0x16;
/// One failed handshake in this time is written to the log, and ten at once.
const LOG_EVERY: Duration = Duration::from_secs(1);
const LOG_BURST: Duration = Duration::from_secs(10);
/// The largest file. A bundle of all public authorities is a quarter of this.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What a listener presents, and whom it lets in. Clones share it.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    files: config::Tls,
    current: ArcSwap<Generation>,
    /// What the files held when they were last tried, none if they could not be read: what was refused is not tried
    /// again, nor complained about again, until it changes.
    tried: Mutex<Option<Contents>>,
    meter: TlsMeter,
    /// Of lines in the log about failed handshakes: a flood of them must not fill it.
    logged: Mutex<Debt>,
}

/// What the files held at the same time, as it is served.
struct Generation {
    config: Arc<ServerConfig>,
    client_ca: Option<Vec<u8>>,
    /// Cancelled when other authorities take over: connections that the old ones let in end.
    retired: CancellationToken,
}

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("`{key}`: {} cannot be read: {source}", path.display())]
    Unreadable {
        /// Where the configuration names it.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("`{key}`: {} holds no {expected} in PEM form", path.display())]
    NotPem {
        /// Where the configuration names it.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What should be in it.
        expected: &'static str,
    },
    /// Certificate and key do not belong together.
    #[error("the key in {} does not belong to the certificate in {}; replace both", key.display(), cert.display())]
    Mismatch {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// Anything else.
    #[error("certificate {} and key {} cannot be used: {message}", cert.display(), key.display())]
    Unusable {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why.
        message: String,
    },
}

/// What looking at the files again has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// The same as before.
    Unchanged,
    /// Something else, which is in use from the next connection on.
    Renewed,
}

impl Tls {
    /// Reads the files; `meter` counts what becomes of them and of handshakes.
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

    /// Looks at the files again, and serves what they hold now. If that cannot be used, what was served before still is;
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

    /// The handshake, before `deadline`; none if it fails. The token is cancelled when whoever was let
    /// in no longer is.
    pub(super) async fn accept(
        &self,
        socket: TcpStream,
        deadline: Instant,
    ) -> Option<(Stream, CancellationToken)> {
        let generation = self.0.current.load_full();
        let peer = socket.peer_addr().map(|address| address.ip());
        let handshake = TlsAcceptor::from(Arc::clone(&generation.config)).accept(socket);
        let failure = match timeout_at(deadline, handshake).await {
            Ok(Ok(stream)) => return Some((Stream::Tls(Box::new(stream)), generation.retired.clone())),
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

/// What the files hold.
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
            // A resumed session would not have its client's certificate checked again, for up to a day.
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
