//! Signing, as a provider does before it delivers. Used for test deliveries, benchmarks and Hapax's own outgoing
//! requests; based on the same [`Scheme`] as the verifier.

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};

use crate::catalogue::Provider;
pub use crate::delivery::Delivery;
use crate::delivery::Sign;
use crate::options::Options;
use crate::proof::Proof;
pub use crate::proof::Signer;
use crate::scheme::{Algorithm, KeyEncoding, Scheme, base64_secret, private_prefix};
pub use crate::secret_pair::SecretPair;
use crate::setup::SetupError;

/// Signs as a provider does, with one secret. Create it once and use it for every delivery.
pub struct ProviderSigner(Box<dyn Sign>);

impl ProviderSigner {
    /// Creates a signer. If the provider signs with a key pair, the secret is the private half.
    pub fn new(provider: &Provider, secret: &str, options: &Options) -> Result<Self, SetupError> {
        Self::of_proof(&provider.proof, secret, options)
    }

    /// Creates a signer for a source without a preset.
    pub fn of_proof(proof: &Proof, secret: &str, options: &Options) -> Result<Self, SetupError> {
        proof.signer(secret, options).map(ProviderSigner)
    }

    /// Whether a delivery contains the secret itself instead of a signature, so that it must not be shown.
    pub fn sends_secret(&self) -> bool {
        self.0.sends_secret()
    }

    /// Signs a delivery, ready to send.
    #[must_use]
    pub fn sign(&self, mut delivery: Delivery) -> Delivery {
        self.0.sign(&mut delivery);
        delivery
    }
}

impl std::fmt::Debug for ProviderSigner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ProviderSigner").finish_non_exhaustive()
    }
}

/// A new secret in the format of the provider's own secrets, from the caller's randomness.
pub fn generate_secret(provider: &Provider, random: &[u8; 32]) -> SecretPair {
    let prefixed = |text: String| SecretPair::shared(format!("{}{text}", provider.secret_prefix));
    match &provider.proof {
        Proof::Coded(coded) => coded.code().secret_pair(random),
        Proof::Signature(scheme) => {
            asymmetric_pair(scheme, random).unwrap_or_else(|| prefixed(secret_text(scheme, random)))
        }
        Proof::Token(_) | Proof::Jwt(_) | Proof::Any(_) => prefixed(hex::encode(random)),
    }
}

/// A new secret for a source's own scheme, from the caller's randomness. For Ed25519 it is a private key.
pub fn generate_custom_secret(scheme: &Scheme, random: &[u8; 32]) -> String {
    let rule = scheme.signatures.first().map(|kind| &kind.key);
    let prefix = rule.and_then(|rule| rule.prefix.as_deref()).unwrap_or_default();
    format!("{prefix}{}", secret_text(scheme, random))
}

fn secret_text(scheme: &Scheme, random: &[u8; 32]) -> String {
    match scheme.signatures.first().map(|kind| kind.key.encoding) {
        Some(KeyEncoding::Base64) => base64_secret(random),
        Some(KeyEncoding::Utf8 | KeyEncoding::Hex | KeyEncoding::Entities) | None => hex::encode(random),
    }
}

/// Both halves, if the scheme's first kind is a key pair.
fn asymmetric_pair(scheme: &Scheme, random: &[u8; 32]) -> Option<SecretPair> {
    let kind = scheme.signatures.first()?;
    let (private, public) = match kind.algorithm {
        Algorithm::HmacSha1 | Algorithm::HmacSha256 | Algorithm::HmacSha512 => return None,
        Algorithm::Ed25519 => {
            let pair = Ed25519KeyPair::from_seed_unchecked(random).ok()?;
            (random.to_vec(), pair.public_key().as_ref().to_vec())
        }
        Algorithm::EcdsaP256 => p256_pair(random)?,
    };
    let encode = |bytes: &[u8], prefix: Option<&str>| {
        let text = match kind.key.encoding {
            KeyEncoding::Base64 => base64_secret(bytes),
            KeyEncoding::Utf8 | KeyEncoding::Hex | KeyEncoding::Entities => hex::encode(bytes),
        };
        format!("{}{text}", prefix.unwrap_or_default())
    };
    Some(SecretPair {
        signing: encode(&private, private_prefix(&kind.key)),
        verifying: encode(&public, kind.key.prefix.as_deref()),
    })
}

/// A private key in PKCS #8 and its public half, both in DER.
fn p256_pair(random: &[u8; 32]) -> Option<(Vec<u8>, Vec<u8>)> {
    let private = PrivateKey::from_private_key(&ECDH_P256, random).ok()?;
    let document: Pkcs8V1Der<'_> = private.as_der().ok()?;
    let public: PublicKeyX509Der<'_> = private.compute_public_key().ok()?.as_der().ok()?;
    Some((document.as_ref().to_vec(), public.as_ref().to_vec()))
}
