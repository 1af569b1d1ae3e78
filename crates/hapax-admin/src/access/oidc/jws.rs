//! Token signatures: compact JWS, verified with the keys that the provider publishes.
//!
//! A token names its key and its algorithm, and the key decides whether they fit. Only public keys are used here, so
//! that neither `none` nor an HMAC with a public key is ever accepted as a signature.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

/// Maximum length of a token.
const TOKEN_BYTES_MAX: usize = 32 * 1024;
/// Maximum number of keys of a provider.
const KEYS_MAX: usize = 64;

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("it is not a signed token of at most {TOKEN_BYTES_MAX} bytes")]
    Unreadable,
    #[error("it matches none of the provider's keys")]
    UnknownKey,
    #[error("its signature is invalid")]
    Signature,
}

/// A key set as a provider publishes it.
#[derive(Deserialize)]
pub(super) struct KeySet {
    keys: Vec<Value>,
}

impl KeySet {
    /// The keys that can be parsed; the others are of types that are not used here.
    pub(super) fn into_keys(self) -> Vec<Jwk> {
        let keys = self.keys.into_iter().take(KEYS_MAX);
        keys.filter_map(|key| serde_json::from_value(key).ok()).collect()
    }
}

/// A public key.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Jwk {
    kid: Option<String>,
    kty: String,
    crv: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    n: String,
    e: String,
    x: String,
    y: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    /// Extensions that must be understood. None is supported.
    #[serde(default)]
    crit: Option<Value>,
}

/// The claims of a token, if one of the keys signed it.
pub(super) fn verify(token: &str, keys: &[Jwk]) -> Result<Value, Error> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(Error::Unreadable);
    }
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Error::Unreadable);
    let (signed, signature) = token.rsplit_once('.').ok_or(Error::Unreadable)?;
    let (header, claims) = signed.split_once('.').ok_or(Error::Unreadable)?;
    let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| Error::Unreadable)?;
    if header.crit.is_some() {
        return Err(Error::Unreadable);
    }
    let signature = decode(signature)?;
    let mut fitting = keys.iter().filter(|key| key.fits(&header)).peekable();
    if fitting.peek().is_none() {
        return Err(Error::UnknownKey);
    }
    if !fitting.any(|key| key.verifies(&header.alg, signed.as_bytes(), &signature)) {
        return Err(Error::Signature);
    }
    serde_json::from_slice(&decode(claims)?).map_err(|_| Error::Unreadable)
}

impl Jwk {
    fn fits(&self, header: &Header) -> bool {
        let kind = match header.alg.as_str() {
            "RS256" | "PS256" => ("RSA", ""),
            "ES256" => ("EC", "P-256"),
            "ES384" => ("EC", "P-384"),
            "EdDSA" | "Ed25519" => ("OKP", "Ed25519"),
            _ => return false,
        };
        (self.kty.as_str(), self.crv.as_str()) == kind
            && self.purpose.as_ref().is_none_or(|purpose| purpose == "sig")
            && self.alg.as_ref().is_none_or(|alg| *alg == header.alg)
            && (header.kid.is_none() || self.kid == header.kid)
    }

    /// Must only be called with an algorithm that fits.
    fn verifies(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        let number = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        let rsa = RsaPublicKeyComponents {
            n: number(&self.n),
            e: number(&self.e),
        };
        let point = || [vec![4], number(&self.x), number(&self.y)].concat();
        let verified = match algorithm {
            "RS256" => rsa.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            "PS256" => rsa.verify(&RSA_PSS_2048_8192_SHA256, message, signature),
            "ES256" => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point()).verify(message, signature),
            "ES384" => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point()).verify(message, signature),
            _ => UnparsedPublicKey::new(&ED25519, number(&self.x)).verify(message, signature),
        };
        verified.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding,
        RsaKeyPair,
    };
    use serde_json::json;

    use super::*;

    fn encode(bytes: impl AsRef<[u8]>) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn token(header: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
        let claims = json!({"sub": "ada"});
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = sign(signed.as_bytes());
        format!("{signed}.{}", encode(signature))
    }

    fn keys(keys: &[Value]) -> Vec<Jwk> {
        KeySet { keys: keys.to_vec() }.into_keys()
    }

    fn rsa(padding: &'static dyn RsaEncoding) -> (Value, impl Fn(&[u8]) -> Vec<u8>) {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        // The modulus, after the headers of its sequence and of the integer.
        let modulus = encode(&pair.public_key().as_ref()[9..265]);
        let key = json!({"kty": "RSA", "n": modulus, "e": "AQAB"});
        (key, move |message| {
            let mut signature = vec![0; 256];
            pair.sign(padding, &SystemRandom::new(), message, &mut signature)
                .unwrap();
            signature
        })
    }

    fn curve(algorithm: &'static EcdsaSigningAlgorithm, name: &str) -> (Value, impl Fn(&[u8]) -> Vec<u8>) {
        let pair = EcdsaKeyPair::generate(algorithm).unwrap();
        let point = &pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        let key = json!({"kty": "EC", "crv": name, "x": encode(x), "y": encode(y)});
        (key, move |message| {
            let signature = pair.sign(&SystemRandom::new(), message).unwrap();
            signature.as_ref().to_vec()
        })
    }

    fn check(algorithm: &str, key: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) {
        let header = json!({"alg": algorithm});
        let good = token(&header, &sign);
        assert_eq!(
            verify(&good, &keys(from_ref(key))).unwrap()["sub"],
            "ada",
            "{algorithm}"
        );
        let bad = token(&header, |message| {
            let mut signature = sign(message);
            signature[10] ^= 1;
            signature
        });
        assert_eq!(
            verify(&bad, &keys(from_ref(key))),
            Err(Error::Signature),
            "{algorithm}"
        );
        for (name, value) in [("use", "enc"), ("alg", "RS512"), ("kty", "oct")] {
            let mut other = key.clone();
            other[name] = json!(value);
            assert_eq!(
                verify(&good, &keys(&[other])),
                Err(Error::UnknownKey),
                "{algorithm} {name}"
            );
        }
    }

    #[test]
    fn every_algorithm_is_checked_with_a_key_of_its_own_kind() {
        let (key, sign) = rsa(&RSA_PKCS1_SHA256);
        check("RS256", &key, sign);
        let (key, sign) = rsa(&RSA_PSS_SHA256);
        check("PS256", &key, sign);
        let (key, sign) = curve(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256");
        check("ES256", &key, sign);
        let (key, sign) = curve(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384");
        check("ES384", &key, sign);
        let pair = Ed25519KeyPair::generate().unwrap();
        let key = json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key())});
        check("EdDSA", &key, |message| pair.sign(message).as_ref().to_vec());
    }

    #[test]
    fn a_token_without_a_key_id_is_tried_with_every_key_that_fits_and_one_with_it_with_its_own() {
        let (mut first, sign) = curve(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256");
        let (mut second, _) = curve(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256");
        first["kid"] = json!("first");
        second["kid"] = json!("second");
        let both = keys(&[json!({"kty": 7}), second, first]);
        assert_eq!(both.len(), 2, "what cannot be read is left out");
        let ask = |header: Value| verify(&token(&header, &sign), &both).map(|_| ());
        assert_eq!(ask(json!({"alg": "ES256"})), Ok(()));
        assert_eq!(ask(json!({"alg": "ES256", "kid": "first"})), Ok(()));
        assert_eq!(
            ask(json!({"alg": "ES256", "kid": "second"})),
            Err(Error::Signature)
        );
        assert_eq!(
            ask(json!({"alg": "ES256", "kid": "third"})),
            Err(Error::UnknownKey)
        );
        for unreadable in ["", "a", "a.b", "a.b.c", &"x".repeat(TOKEN_BYTES_MAX + 1)] {
            assert_eq!(verify(unreadable, &both), Err(Error::Unreadable));
        }
    }
}
