//! Both halves of a secret.

/// The secrets for signing and for verifying: the same, unless the provider has a key pair.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretPair {
    /// The secret that the provider signs with.
    pub signing: String,
    /// The secret that a source has in `secrets`.
    pub verifying: String,
}

impl SecretPair {
    /// One secret for both.
    pub fn shared(secret: String) -> Self {
        SecretPair {
            signing: secret.clone(),
            verifying: secret,
        }
    }
}

impl std::fmt::Debug for SecretPair {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Both halves are omitted on purpose.
        formatter.debug_struct("SecretPair").finish_non_exhaustive()
    }
}
