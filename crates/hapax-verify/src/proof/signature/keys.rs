//! Keys, made ready once: the HMAC state after its key block, and the parsed public keys.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey};

use super::candidates::Candidates;
use super::content::{Content, concatenate};
use crate::SetupError;
use crate::limits::SECRETS_MAX;
use crate::scheme::{Algorithm, KeyRule, Scheme, derive, select};
use crate::setup::SecretProblem;

/// A secret, ready to verify with.
pub(super) struct VerifyingKey {
    kind: usize,
    material: Material,
}

enum Material {
    Hmac(Box<hmac::Key>),
    Public(ParsedPublicKey),
}

impl VerifyingKey {
    /// Which of the scheme's signature kinds this key checks.
    pub(super) fn kind(&self) -> usize {
        self.kind
    }

    /// Whether any of the signatures was made with this key over this content.
    pub(super) fn matches(&self, content: &Content<'_>, candidates: &Candidates) -> bool {
        let mut signatures = candidates.of_kind(self.kind);
        match &self.material {
            Material::Hmac(key) => {
                let expected = tag(key, content);
                // Constant time: how many bytes agree must not show in how long it takes.
                signatures.any(|signature| verify_slices_are_equal(expected.as_ref(), signature).is_ok())
            }
            Material::Public(key) => {
                let message = concatenate(content);
                signatures.any(|signature| key.verify_sig(&message, signature).is_ok())
            }
        }
    }
}

/// Makes every secret ready, or says which one cannot be used.
pub(super) fn verifying_keys(scheme: &Scheme, secrets: &[&str]) -> Result<Vec<VerifyingKey>, SetupError> {
    if secrets.len() > SECRETS_MAX {
        return Err(SetupError::TooManySecrets { count: secrets.len() });
    }
    let key_at = |(index, secret): (usize, &&str)| {
        verifying_key(scheme, secret).map_err(|problem| SetupError::Secret {
            position: index + 1,
            problem,
        })
    };
    secrets.iter().enumerate().map(key_at).collect()
}

/// The HMAC of the content, part by part.
pub(crate) fn tag(key: &hmac::Key, content: &Content<'_>) -> hmac::Tag {
    let mut state = hmac::Context::with_key(key);
    content.for_each(|part| state.update(part));
    state.sign()
}

/// The library's algorithm; `None` for what is no HMAC.
pub(crate) fn hmac_algorithm(algorithm: Algorithm) -> Option<hmac::Algorithm> {
    match algorithm {
        Algorithm::HmacSha1 => Some(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
        Algorithm::HmacSha256 => Some(hmac::HMAC_SHA256),
        Algorithm::HmacSha512 => Some(hmac::HMAC_SHA512),
        Algorithm::Ed25519 | Algorithm::EcdsaP256 => None,
    }
}

fn verifying_key(scheme: &Scheme, secret: &str) -> Result<VerifyingKey, SecretProblem> {
    refuse_private(scheme, secret)?;
    let kind = select(&scheme.signatures, secret, public_prefix)?;
    let description = &scheme.signatures[kind];
    let bytes = derive(
        description.key.encoding,
        description.key.prefix.as_deref(),
        secret,
    )?;
    let material = match hmac_algorithm(description.algorithm) {
        Some(algorithm) => Material::Hmac(Box::new(hmac::Key::new(algorithm, &bytes))),
        None => Material::Public(public_key(description.algorithm, &bytes)?),
    };
    Ok(VerifyingKey { kind, material })
}

fn public_key(algorithm: Algorithm, bytes: &[u8]) -> Result<ParsedPublicKey, SecretProblem> {
    if algorithm == Algorithm::EcdsaP256 {
        return ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, bytes).map_err(|_| {
            SecretProblem::NotAPublicKey {
                expected: "public key on P-256 in base64",
            }
        });
    }
    if bytes.len() != 32 {
        return Err(SecretProblem::KeyLength { bytes: bytes.len() });
    }
    ParsedPublicKey::new(&ED25519, bytes).map_err(|_| SecretProblem::NotAKey)
}

fn public_prefix(rule: &KeyRule) -> Option<&str> {
    rule.prefix.as_deref()
}

/// A private key verifies nothing and should not lie about on a receiver at all.
fn refuse_private(scheme: &Scheme, secret: &str) -> Result<(), SecretProblem> {
    for rule in scheme.signatures.iter().map(|kind| &kind.key) {
        if let Some(prefix) = rule
            .private_prefix
            .as_deref()
            .filter(|prefix| secret.starts_with(prefix))
        {
            return Err(SecretProblem::PrivateKey {
                prefix: prefix.to_owned(),
                public_prefix: rule.prefix.clone().unwrap_or_default(),
            });
        }
    }
    Ok(())
}
