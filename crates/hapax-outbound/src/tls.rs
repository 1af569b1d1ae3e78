//! TLS to a service of ours: whose certificates are believed, and which certificate is shown.
//!
//! Where the address comes from the configuration of a service on this machine, so does its certificate: exactly that one
//! is believed, whatever names it is for. So `hapax health` works in a container that knows nothing but the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// How to meet a service by TLS.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Whose certificates are believed.
    pub trust: Trust,
    /// A file with our own certificate and its key, for a service that asks for one.
    pub identity: Option<PathBuf>,
}

/// Whose certificates are believed.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Those of the public authorities.
    #[default]
    Public,
    /// Those of the authorities in this file.
    Authorities(PathBuf),
    /// The one in this file, which the service itself reads.
    Exactly(PathBuf),
}

impl Tls {
    /// What rustls needs to know.
    ///
    /// # Errors
    /// When a file cannot be read, in words for people.
    pub fn config(&self) -> Result<ClientConfig, String> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(self.trust.verifier(provider)?);
        let Some(path) = &self.identity else {
            return Ok(builder.with_no_client_auth());
        };
        let key =
            PrivateKeyDer::from_pem_file(path).map_err(|error| unreadable("private key", path, &error))?;
        builder
            .with_client_auth_cert(certificates(path)?, key)
            .map_err(|error| unreadable("certificate with its key", path, &error))
    }
}

impl Trust {
    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, String> {
        let mut roots = RootCertStore::empty();
        match self {
            Self::Public => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Self::Authorities(path) => {
                for certificate in certificates(path)? {
                    roots
                        .add(certificate)
                        .map_err(|error| unreadable("certificate", path, &error))?;
                }
            }
            Self::Exactly(path) => {
                let certificate = certificates(path)?.swap_remove(0);
                return Ok(Arc::new(Exactly {
                    certificate,
                    provider,
                }));
            }
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        verifier
            .map(|verifier| verifier as Arc<dyn ServerCertVerifier>)
            .map_err(|error| error.to_string())
    }
}

/// At least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match found {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(unreadable("certificate", path, &"it holds none")),
        Err(error) => Err(unreadable("certificate", path, &error)),
    }
}

fn unreadable(what: &str, path: &Path, why: &dyn std::fmt::Display) -> String {
    format!("no {what} can be read from {}: {why}", path.display())
}

/// Believes one certificate, by whatever name it is met. Its holder still has to prove that it has the key.
#[derive(Debug)]
struct Exactly {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Exactly {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if *certificate == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
