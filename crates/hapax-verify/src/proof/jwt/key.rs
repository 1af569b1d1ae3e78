//! The keys of tokens: shared secrets, and both halves of key pairs.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, ParsedPublicKey,
    RSA_PKCS1_2048_8192_SHA256,
};

use super::{JwtAlgorithm, JwtRule};
use crate::proof::public_key::{RsaSigningKey, private_der, public_der};
use crate::scheme::derive;
use crate::setup::SecretProblem;

/// A key that verifies signatures.
pub(super) enum Key {
    Shared(Box<hmac::Key>),
    Public(ParsedPublicKey),
}

impl Key {
    pub(super) fn new(rule: &JwtRule, secret: &str) -> Result<Self, SecretProblem> {
        let (algorithm, expected): (&'static dyn aws_lc_rs::signature::VerificationAlgorithm, _) =
            match rule.algorithm {
                JwtAlgorithm::Hs256 => return Ok(Key::Shared(Box::new(shared(rule, secret)?))),
                JwtAlgorithm::Es256 => (&ECDSA_P256_SHA256_FIXED, "a public key on P-256 in PEM or base64"),
                JwtAlgorithm::Rs256 => (
                    &RSA_PKCS1_2048_8192_SHA256,
                    "an RSA public key of at least 2048 bits in PEM or base64",
                ),
            };
        let key = public_der(secret).and_then(|der| ParsedPublicKey::new(algorithm, der).ok());
        key.map(Key::Public)
            .ok_or(SecretProblem::NotAPublicKey { expected })
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            // Constant time: the duration must not reveal how many bytes match.
            Key::Shared(key) => verify_slices_are_equal(hmac::sign(key, message).as_ref(), signature).is_ok(),
            Key::Public(key) => key.verify_sig(message, signature).is_ok(),
        }
    }
}

/// A key that makes signatures.
pub(super) enum SigningKey {
    Shared(Box<hmac::Key>),
    P256(EcdsaKeyPair),
    Rsa(RsaSigningKey),
}

impl SigningKey {
    pub(super) fn new(rule: &JwtRule, secret: &str) -> Result<Self, SecretProblem> {
        match rule.algorithm {
            JwtAlgorithm::Hs256 => Ok(SigningKey::Shared(Box::new(shared(rule, secret)?))),
            JwtAlgorithm::Es256 => {
                let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let pair = private_der(secret).and_then(|der| EcdsaKeyPair::from_pkcs8(algorithm, &der).ok());
                pair.map(SigningKey::P256).ok_or(SecretProblem::NotASigningKey {
                    expected: "a private key on P-256 in PKCS #8, as PEM or base64",
                })
            }
            JwtAlgorithm::Rs256 => RsaSigningKey::from_secret(secret).map(SigningKey::Rsa),
        }
    }

    /// The signature; empty, and thus invalid, if the library cannot make one.
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            SigningKey::Shared(key) => hmac::sign(key, message).as_ref().to_vec(),
            SigningKey::P256(pair) => pair
                .sign(&SystemRandom::new(), message)
                .map_or_else(|_| Vec::new(), |signature| signature.as_ref().to_vec()),
            SigningKey::Rsa(key) => key.signature(message),
        }
    }
}

fn shared(rule: &JwtRule, secret: &str) -> Result<hmac::Key, SecretProblem> {
    let bytes = derive(rule.key, None, secret)?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}
