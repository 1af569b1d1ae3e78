//! Encryption of what the store keeps of secrets: AES-256-GCM, bound to its source and name.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::digest::{Context, SHA256};
use hapax_core::{Secret, SourceName};

/// What stands before the configured text when it becomes a key.
const DOMAIN: &[u8] = b"hapax-state-key:v1\n";

/// Seals and opens secrets with the configured key.
pub(super) struct Seal(RandomizedNonceKey);

impl Seal {
    /// With this `server.state_key`. The text is long and random, so that its hash is a key.
    pub(super) fn new(state_key: &Secret) -> Option<Self> {
        let mut context = Context::new(&SHA256);
        context.update(DOMAIN);
        context.update(state_key.expose().as_bytes());
        RandomizedNonceKey::new(&AES_256_GCM, context.finish().as_ref())
            .ok()
            .map(Self)
    }

    /// The nonce and what is sealed under it.
    pub(super) fn seal(&self, source: &SourceName, name: &str, secret: &str) -> Option<Vec<u8>> {
        let mut sealed = secret.as_bytes().to_vec();
        let nonce = self
            .0
            .seal_in_place_append_tag(place(source, name), &mut sealed)
            .ok()?;
        Some([nonce.as_ref().as_slice(), &sealed].concat())
    }

    /// The secret; `None` if it was sealed with another key, for another place, or was changed.
    pub(super) fn open(&self, source: &SourceName, name: &str, value: &[u8]) -> Option<String> {
        let (nonce, sealed) = value.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let opened = self
            .0
            .open_in_place(nonce, place(source, name), &mut sealed)
            .ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }
}

/// Nobody can give one source's secret to another by changing the store.
fn place(source: &SourceName, name: &str) -> Aad<Vec<u8>> {
    Aad::from(format!("{source}\n{name}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_opens_with_its_key_at_its_place_and_nowhere_else() {
        let (asana, other) = (SourceName::from("asana"), SourceName::from("other"));
        let seal = Seal::new(&Secret::new("k".repeat(32))).unwrap();
        let sealed = seal.seal(&asana, "secret:1", "hunter2").unwrap();
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
        assert_eq!(seal.open(&asana, "secret:1", &sealed).as_deref(), Some("hunter2"));
        assert_eq!(seal.open(&other, "secret:1", &sealed), None);
        assert_eq!(seal.open(&asana, "secret:2", &sealed), None);
        let another = Seal::new(&Secret::new("x".repeat(32))).unwrap();
        assert_eq!(another.open(&asana, "secret:1", &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(seal.open(&asana, "secret:1", &changed), None, "byte {at}");
        }
        assert_eq!(seal.open(&asana, "secret:1", b"short"), None);
    }
}
