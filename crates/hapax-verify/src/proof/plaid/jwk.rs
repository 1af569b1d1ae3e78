//! Plaid's keys: points on P-256, written as JWKs.

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::secret_pair::SecretPair;
use crate::setup::SecretProblem;

const COORDINATE_BYTES: usize = 32;

/// A public key, or with `d` a private one.
#[derive(Clone, Deserialize)]
pub(super) struct Jwk {
    pub(super) kid: Option<String>,
    kty: String,
    crv: String,
    #[serde(default)]
    alg: Option<String>,
    x: String,
    y: String,
    #[serde(default)]
    pub(super) d: Option<String>,
    #[serde(default)]
    pub(super) expired_at: Option<i64>,
}

impl Jwk {
    /// The point in the form that the library accepts.
    pub(super) fn point(&self) -> Option<Vec<u8>> {
        let right_kind = self.kty == "EC" && self.crv == "P-256";
        let right_algorithm = self.alg.as_deref().is_none_or(|algorithm| algorithm == "ES256");
        if !right_kind || !right_algorithm {
            return None;
        }
        let mut point = vec![4];
        for coordinate in [&self.x, &self.y] {
            let bytes = URL_SAFE_NO_PAD.decode(coordinate).ok()?;
            if bytes.len() != COORDINATE_BYTES {
                return None;
            }
            point.extend(bytes);
        }
        Some(point)
    }
}

/// Reads a key as configured or as returned by Plaid: alone, or under `key`.
pub(super) fn read_jwk(bytes: &[u8]) -> Option<Jwk> {
    #[derive(Deserialize)]
    struct JwkDocument {
        key: Jwk,
    }
    let alone = serde_json::from_slice(bytes).ok();
    alone.or_else(|| Some(serde_json::from_slice::<JwkDocument>(bytes).ok()?.key))
}

pub(super) fn public_jwk(secret: &str) -> Result<Jwk, SecretProblem> {
    let key = read_jwk(secret.as_bytes()).filter(|key| key.point().is_some() && key.kid.is_some());
    let key = key.ok_or(SecretProblem::NotAPublicKey {
        expected: "a public key on P-256 as a JWK with its `kid`",
    })?;
    if key.d.is_some() {
        return Err(SecretProblem::NotAPublicKey {
            expected: "a public key, because it has the private half in `d`",
        });
    }
    Ok(key)
}

/// Both halves of a new key.
pub(super) fn fresh_pair(random: &[u8; 32]) -> Option<SecretPair> {
    let public = PrivateKey::from_private_key(&ECDH_P256, random)
        .ok()?
        .compute_public_key()
        .ok()?;
    let (x, y) = public.as_ref().get(1..)?.split_at_checked(COORDINATE_BYTES)?;
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    // Two keys must not share an id: a token names the key that it was signed with.
    let key_id = format!(
        "{}-0000-4000-8000-000000000000",
        hex::encode(x.first_chunk::<4>()?)
    );
    let mut key = serde_json::json!({
        "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": key_id, "x": encode(x), "y": encode(y),
    });
    let verifying = key.to_string();
    key["d"] = encode(random).into();
    Some(SecretPair {
        signing: key.to_string(),
        verifying,
    })
}
