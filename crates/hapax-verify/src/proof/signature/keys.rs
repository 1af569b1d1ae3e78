//! Keys, prepared once: the HMAC state after its key block, and the parsed public keys.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey};

use super::candidates::Candidates;
use super::content::{Content, concatenate};
use crate::limits::SECRETS_MAX;
use crate::options::Options;
use crate::proof::Setup;
use crate::scheme::{Algorithm, KeyRule, Scheme, SignatureKind, derive, select};
use crate::setup::{SecretProblem, SetupError};

/// A secret, prepared for verification.
pub(super) struct VerifyingKey {
    kind: usize,
    material: Material,
    /// Its index among the secrets; `None` if it comes from an option.
    secret_index: Option<usize>,
    /// The name by which a request refers to it; `None` if it applies to every request.
    name: Option<String>,
}

enum Material {
    Hmac(Box<hmac::Key>),
    Public(ParsedPublicKey),
}

impl VerifyingKey {
    /// The index of the scheme's signature kind that this key verifies.
    pub(super) fn kind(&self) -> usize {
        self.kind
    }

    /// Its index among the secrets.
    pub(super) fn secret_index(&self) -> Option<usize> {
        self.secret_index
    }

    /// Whether it applies to a request that names this key, or none.
    pub(super) fn is_for(&self, name: Option<&[u8]>) -> bool {
        self.name
            .as_deref()
            .is_none_or(|own| Some(own.as_bytes()) == name)
    }

    /// Whether any of the signatures was made with this key over this content.
    pub(super) fn matches(&self, content: &Content<'_>, candidates: &Candidates) -> bool {
        let mut signatures = candidates.of_kind(self.kind);
        match &self.material {
            Material::Hmac(key) => {
                let expected = tag(key, content);
                // Constant time: the duration must not reveal how many bytes match.
                signatures.any(|signature| verify_slices_are_equal(expected.as_ref(), signature).is_ok())
            }
            Material::Public(key) => {
                let message = concatenate(content);
                signatures.any(|signature| key.verify_sig(&message, signature).is_ok())
            }
        }
    }
}

/// Prepares every secret, or reports which one is invalid.
pub(super) fn verifying_keys(scheme: &Scheme, setup: &Setup<'_>) -> Result<Vec<VerifyingKey>, SetupError> {
    let secrets = setup.secrets;
    if secrets.len() > SECRETS_MAX {
        return Err(SetupError::TooManySecrets { count: secrets.len() });
    }
    let mut keys = Vec::with_capacity(secrets.len());
    for (index, secret) in secrets.iter().enumerate() {
        let failed = |problem| SetupError::Secret {
            position: index + 1,
            problem,
        };
        for kind in kinds_of(scheme, secret).map_err(failed)? {
            let mut key = verifying_key(scheme, kind, secret).map_err(failed)?;
            key.secret_index = Some(index);
            keys.push(key);
        }
    }
    keys.extend(keys_in_options(scheme, setup.options)?);
    Ok(keys)
}

/// Keys from options: each for one kind of signature, or each with a name.
fn keys_in_options(scheme: &Scheme, options: &Options) -> Result<Vec<VerifyingKey>, SetupError> {
    let mut keys = Vec::new();
    for (kind, description) in scheme.signatures.iter().enumerate() {
        let option = description.key_option.as_deref();
        if let Some((option, text)) = option.and_then(|name| Some((name, options.text(name)?))) {
            keys.push(verifying_key(scheme, kind, text).map_err(|problem| in_option(option, problem))?);
        }
    }
    let table = scheme
        .named_keys
        .as_ref()
        .and_then(|named| options.table(&named.option));
    for (name, text) in table.into_iter().flatten() {
        let mut key = verifying_key(scheme, 0, text).map_err(|problem| in_option(name, problem))?;
        key.name = Some(name.clone());
        keys.push(key);
    }
    Ok(keys)
}

fn in_option(name: &str, problem: SecretProblem) -> SetupError {
    SetupError::KeyInOption {
        name: name.to_owned(),
        problem,
    }
}

/// The kinds of signature that a secret may have made: the one that matches its shape, and those that differ from it
/// only in their location.
fn kinds_of(scheme: &Scheme, secret: &str) -> Result<Vec<usize>, SecretProblem> {
    refuse_private(scheme, secret)?;
    let kind = select(&scheme.signatures, secret, public_prefix)?;
    let chosen = &scheme.signatures[kind];
    let alike = |other: &SignatureKind| other.algorithm == chosen.algorithm && other.key == chosen.key;
    let kinds = scheme.signatures.iter().enumerate();
    Ok(kinds
        .filter(|(_, other)| alike(other))
        .map(|(kind, _)| kind)
        .collect())
}

/// The HMAC of the content, part by part.
pub(super) fn tag(key: &hmac::Key, content: &Content<'_>) -> hmac::Tag {
    let mut state = hmac::Context::with_key(key);
    content.for_each(|part| state.update(part));
    state.sign()
}

/// The library's algorithm; `None` if it is not an HMAC.
pub(super) fn hmac_algorithm(algorithm: Algorithm) -> Option<hmac::Algorithm> {
    match algorithm {
        Algorithm::HmacSha1 => Some(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
        Algorithm::HmacSha256 => Some(hmac::HMAC_SHA256),
        Algorithm::HmacSha512 => Some(hmac::HMAC_SHA512),
        Algorithm::Ed25519 | Algorithm::EcdsaP256 => None,
    }
}

fn verifying_key(scheme: &Scheme, kind: usize, secret: &str) -> Result<VerifyingKey, SecretProblem> {
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
    Ok(VerifyingKey {
        kind,
        material,
        secret_index: None,
        name: None,
    })
}

fn public_key(algorithm: Algorithm, bytes: &[u8]) -> Result<ParsedPublicKey, SecretProblem> {
    if algorithm == Algorithm::EcdsaP256 {
        return ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, bytes).map_err(|_| {
            SecretProblem::NotAPublicKey {
                expected: "a public key on P-256 in PEM or base64",
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

/// A private key verifies nothing and should not be on a receiver at all.
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
