//! TLS to a Hapax service: which certificates are trusted and which one is presented.
//!
//! If the address comes from the configuration of a service on this machine, so does its certificate. Exactly that
//! certificate is trusted, regardless of the names it is issued for, so that `hapax health` works in a container that
//! has only the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// How to connect to a service over TLS.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    pub trust: Trust,
    /// A file with our certificate and its key, for a service that asks for one.
    pub identity: Option<PathBuf>,
}

/// Which certificates are trusted.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Those issued by public authorities.
    #[default]
    Public,
    /// Those issued by the authorities in this file.
    Authorities(PathBuf),
    /// Only the one in this file, which the service itself uses.
    Exactly(PathBuf),
}

impl Tls {
    /// The rustls client configuration.
    ///
    /// # Errors
    /// When a file cannot be read, with a message for people.
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

/// The certificates in a file; at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match found {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(unreadable("certificate", path, &"it contains none")),
        Err(error) => Err(unreadable("certificate", path, &error)),
    }
}

fn unreadable(what: &str, path: &Path, why: &dyn std::fmt::Display) -> String {
    format!("no {what} can be read from {}: {why}", path.display())
}

/// Trusts one certificate under any name. The server must still prove that it holds the key.
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
