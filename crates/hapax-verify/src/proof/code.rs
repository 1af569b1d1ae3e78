//! The interface of a proof that is code.

use super::{Prove, Setup};
use crate::delivery::Sign;
use crate::options::Options;
use crate::secret_pair::SecretPair;
use crate::setup::SetupError;

/// A proof that is code: how a provider signs, and how its requests are verified.
pub(crate) trait Code {
    /// Compiles the proof with its secrets.
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError>;

    /// Creates a signer that acts as the provider.
    fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError>;

    /// A short description.
    fn summary(&self) -> &'static str;

    /// The headers that hold the proof, in lower case; empty if it is in the body.
    fn headers(&self) -> &'static [&'static str] {
        &[]
    }

    /// The fields of a body that prove who sent it and would be valid with another body as well.
    fn body_credentials(&self) -> &'static [&'static str] {
        &[]
    }

    /// The default tolerance for a signed timestamp; `None` if none is checked.
    fn tolerance_seconds(&self) -> Option<u32> {
        None
    }

    /// Whether the public URL is signed.
    fn covers_url(&self) -> bool {
        false
    }

    /// A new secret, from the caller's randomness.
    fn secret_pair(&self, random: &[u8; 32]) -> SecretPair {
        SecretPair::shared(hex::encode(random))
    }
}
