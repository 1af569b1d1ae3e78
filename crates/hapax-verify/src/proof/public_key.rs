//! Public keys of providers that sign with a private key: as a certificate, as PEM, or as DER in base64.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{
    KeyPair as _, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_SHA256,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::certificate::Certificate;
use crate::pem::pem_block;
use crate::rejection::Rejection;
use crate::secret_pair::SecretPair;
use crate::setup::SecretProblem;

/// The hash function of an RSA signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
}

/// A configured RSA key.
pub(super) struct RsaKey {
    public_key: Vec<u8>,
    certificate: Option<Certificate>,
}

impl RsaKey {
    /// Reads a configured key: a PEM certificate, a PEM public key, or either in plain base64.
    pub(super) fn from_secret(secret: &str) -> Result<Self, SecretProblem> {
        let certificate = Certificate::from_pem(secret);
        let public_key = match &certificate {
            Some(certificate) => Some(certificate.public_key.clone()),
            None => public_der(secret),
        };
        let usable = |key: &Vec<u8>| ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key).is_ok();
        let public_key = public_key.filter(usable).ok_or(SecretProblem::NotAPublicKey {
            expected: "a certificate or an RSA public key of at least 2048 bits",
        })?;
        Ok(RsaKey {
            public_key,
            certificate,
        })
    }

    /// Whether it is valid at this time; a bare key always is.
    pub(super) fn is_valid_at(&self, time: i64) -> bool {
        let certificate = self.certificate.as_ref();
        certificate.is_none_or(|certificate| certificate.is_valid_at(time))
    }

    pub(super) fn verifies(&self, hash: Hash, message: &[u8], signature: &[u8]) -> bool {
        rsa_verifies(&self.public_key, hash, message, signature)
    }
}

/// The bytes of a configured public key: PEM, or DER in base64.
pub(super) fn public_der(secret: &str) -> Option<Vec<u8>> {
    pem_block(secret, "PUBLIC KEY").or_else(|| STANDARD.decode(secret.trim()).ok())
}

/// The bytes of a private key: PEM, or DER in base64.
pub(super) fn private_der(secret: &str) -> Option<Vec<u8>> {
    pem_block(secret, "PRIVATE KEY").or_else(|| STANDARD.decode(secret.trim()).ok())
}

/// Whether a signature was made by this key. A key of less than 2048 bits verifies nothing.
pub(super) fn rsa_verifies(public_key: &[u8], hash: Hash, message: &[u8], signature: &[u8]) -> bool {
    let algorithm = match hash {
        Hash::Sha1 => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
        Hash::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
    };
    let key = ParsedPublicKey::new(algorithm, public_key);
    key.is_ok_and(|key| key.verify_sig(message, signature).is_ok())
}

/// A fetched certificate that is valid now and belongs to the provider.
pub(super) fn fetched_certificate(
    pem: &[u8],
    now: i64,
    is_senders: fn(&str) -> bool,
) -> Result<Certificate, Rejection> {
    let refused = |problem: &str| Rejection::KeyRefused {
        problem: problem.to_owned(),
    };
    let text = std::str::from_utf8(pem).ok();
    let certificate = text
        .and_then(Certificate::from_pem)
        .ok_or_else(|| refused("the document at its URL is not a certificate"))?;
    if !certificate.is_valid_at(now) {
        return Err(refused("its certificate is not valid at this time"));
    }
    if !certificate.common_name.as_deref().is_some_and(is_senders) {
        return Err(refused("its certificate belongs to someone else"));
    }
    Ok(certificate)
}

/// A private RSA key, for signing.
pub(super) struct RsaSigningKey(KeyPair);

impl RsaSigningKey {
    pub(super) fn from_secret(secret: &str) -> Result<Self, SecretProblem> {
        let pair = private_der(secret).and_then(|der| KeyPair::from_pkcs8(&der).ok());
        pair.map(RsaSigningKey).ok_or(SecretProblem::NotASigningKey {
            expected: "an RSA private key in PKCS #8",
        })
    }

    /// The signature in base64.
    pub(super) fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.signature(message))
    }

    /// The signature; empty, and thus invalid, if the library cannot make one.
    pub(super) fn signature(&self, message: &[u8]) -> Vec<u8> {
        let mut signature = vec![0; self.0.public_modulus_len()];
        let signed = self
            .0
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature);
        signed.map_or_else(|_| Vec::new(), |()| signature)
    }
}

/// A new RSA key. The library takes the randomness from the system, not from the caller.
pub(super) fn rsa_pair() -> SecretPair {
    let halves = || {
        let pair = KeyPair::generate(KeySize::Rsa2048).ok()?;
        let signing: Pkcs8V1Der<'_> = pair.as_der().ok()?;
        let verifying: PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
        Some(SecretPair {
            signing: STANDARD.encode(signing.as_ref()),
            verifying: STANDARD.encode(verifying.as_ref()),
        })
    };
    halves().unwrap_or_default()
}
