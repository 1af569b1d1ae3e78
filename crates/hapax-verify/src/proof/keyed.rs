//! Keyed hashes under several secrets, any of which may match.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;

use crate::limits::SECRETS_MAX;
use crate::setup::{SecretProblem, SetupError};

/// The keys of all secrets, prepared once.
pub(super) struct KeyedHashes {
    keys: Vec<hmac::Key>,
}

impl KeyedHashes {
    pub(super) fn new(
        algorithm: hmac::Algorithm,
        secrets: &[&str],
        derive: fn(&str) -> Result<Vec<u8>, SecretProblem>,
    ) -> Result<Self, SetupError> {
        let keys = each_secret(secrets, |secret| Ok(hmac::Key::new(algorithm, &derive(secret)?)))?;
        Ok(KeyedHashes { keys })
    }

    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }

    /// The index of the first secret under which the parts have this hash. The comparison takes constant time.
    pub(super) fn matching(&self, parts: &[&[u8]], hash: &[u8]) -> Option<usize> {
        let matches = |key: &hmac::Key| verify_slices_are_equal(tag(key, parts).as_ref(), hash).is_ok();
        self.keys.iter().position(matches)
    }

    /// The hash under the first secret, for signing.
    pub(super) fn hash(&self, parts: &[&[u8]]) -> Vec<u8> {
        let first = self.keys.first();
        first.map_or_else(Vec::new, |key| tag(key, parts).as_ref().to_vec())
    }
}

/// Converts each secret, or reports which one is invalid.
pub(super) fn each_secret<T>(
    secrets: &[&str],
    make: impl Fn(&str) -> Result<T, SecretProblem>,
) -> Result<Vec<T>, SetupError> {
    if secrets.len() > SECRETS_MAX {
        return Err(SetupError::TooManySecrets { count: secrets.len() });
    }
    let one = |(index, secret): (usize, &&str)| {
        make(secret).map_err(|problem| SetupError::Secret {
            position: index + 1,
            problem,
        })
    };
    secrets.iter().enumerate().map(one).collect()
}

/// Uses the secret's text as the key.
pub(super) fn text_key(secret: &str) -> Result<Vec<u8>, SecretProblem> {
    if secret.is_empty() {
        return Err(SecretProblem::Empty);
    }
    Ok(secret.as_bytes().to_vec())
}

fn tag(key: &hmac::Key, parts: &[&[u8]]) -> hmac::Tag {
    let mut state = hmac::Context::with_key(key);
    for part in parts {
        state.update(part);
    }
    state.sign()
}
