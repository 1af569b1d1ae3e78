//! A JSON Web Token sent with the request: it states who issued it and when, and, if a claim contains a hash, for which
//! body.
//!
//! The source determines the algorithm. A token that names another is refused before anything else in it is read.

mod compact;
mod key;

pub(super) use compact::{Compact, signed, unsigned};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use key::{Key, SigningKey};

use super::keyed::each_secret;
use super::{Prove, Proven, Setup, Stop, TokenPath, invalid};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::identity::{Origin, ValuePath};
use crate::limits::SIGNATURE_HEADER_BYTES_MAX;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::scheme::KeyEncoding;
use crate::setup::SetupError;
use crate::trace::Trace;

/// The lifetime of tokens that are signed here.
const LIFETIME_SECONDS: i64 = 300;

/// How a token is checked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JwtRule {
    /// Where the token is.
    pub path: TokenPath,
    /// The algorithm it must be signed with.
    pub algorithm: JwtAlgorithm,
    /// How the text of a shared secret is decoded into key bytes.
    #[serde(default)]
    pub key: KeyEncoding,
    /// The required issuer (`iss`).
    #[serde(default)]
    pub issuer: Option<String>,
    /// The required audience (`aud`).
    #[serde(default)]
    pub audience: Option<String>,
    /// The claim with the body's hash. Without it, the token does not cover the body.
    #[serde(default)]
    pub body_hash: Option<BodyHashClaim>,
    /// How far clocks may differ, and the maximum age of a token without an expiry.
    pub tolerance_seconds: u32,
}

/// A claim with the SHA-256 of the body.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyHashClaim {
    /// The name of the claim.
    pub claim: String,
    /// The encoding of the hash. Base64 may use the URL-safe alphabet.
    pub encoding: Encoding,
}

/// The algorithm of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// RSA (PKCS #1) with SHA-256.
    Rs256,
}

impl JwtAlgorithm {
    pub(super) fn name(self) -> &'static str {
        match self {
            JwtAlgorithm::Hs256 => "HS256",
            JwtAlgorithm::Es256 => "ES256",
            JwtAlgorithm::Rs256 => "RS256",
        }
    }

    /// Why another algorithm is refused.
    pub(super) fn only(self) -> &'static str {
        match self {
            JwtAlgorithm::Hs256 => "only HS256 is",
            JwtAlgorithm::Es256 => "only ES256 is",
            JwtAlgorithm::Rs256 => "only RS256 is",
        }
    }
}

impl JwtRule {
    pub(super) fn summary(&self) -> String {
        let (name, place) = (self.algorithm.name(), self.path.name());
        let body = match &self.body_hash {
            Some(hash) => format!("that names the sha256 of the body in `{}`", hash.claim),
            None => "that does not cover the body".to_owned(),
        };
        format!("a token in {place}, signed with {name}, {body}")
    }
}

impl BodyHashClaim {
    /// Whether the claim contains the hash of this body.
    fn names(&self, claims: &Map<String, Value>, body: &[u8]) -> bool {
        let text = claims
            .get(&self.claim)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let named = match self.encoding {
            Encoding::Hex => hex::decode(text).ok(),
            Encoding::Base64 => {
                let alphabet_of_urls = || URL_SAFE_NO_PAD.decode(text).ok();
                STANDARD.decode(text).ok().or_else(alphabet_of_urls)
            }
        };
        let hash = digest(&SHA256, body);
        named.is_some_and(|named| verify_slices_are_equal(hash.as_ref(), &named).is_ok())
    }

    fn text(&self, body: &[u8]) -> String {
        let hash = digest(&SHA256, body);
        match self.encoding {
            Encoding::Hex => hex::encode(hash),
            Encoding::Base64 => STANDARD.encode(hash),
        }
    }
}

pub(super) struct JwtProof {
    rule: JwtRule,
    keys: Vec<Key>,
}

impl JwtProof {
    pub(super) fn new(rule: &JwtRule, setup: &Setup<'_>) -> Result<Self, SetupError> {
        Ok(JwtProof {
            rule: rule.clone(),
            keys: each_secret(setup.secrets, |secret| Key::new(rule, secret))?,
        })
    }

    fn invalid(&self, problem: SignatureProblem) -> Rejection {
        invalid(&self.rule.path.name(), problem)
    }

    /// The index of the secret that the token is signed with, and its claims.
    fn check(&self, request: &Request<'_>) -> Result<(usize, Map<String, Value>), Rejection> {
        let token = self
            .rule
            .path
            .find(request)
            .ok_or_else(|| Rejection::SignatureMissing {
                header: self.rule.path.name(),
            })?;
        if token.len() > SIGNATURE_HEADER_BYTES_MAX {
            return Err(self.invalid(SignatureProblem::HeaderTooLong));
        }
        let text = std::str::from_utf8(&token).map_err(|_| self.invalid(SignatureProblem::Unreadable))?;
        let token = Compact::parse(text, self.rule.algorithm).map_err(|problem| self.invalid(problem))?;
        let mut keys = self.keys.iter();
        let index = keys
            .position(|key| key.verifies(token.signed.as_bytes(), &token.signature))
            .ok_or_else(|| self.invalid(SignatureProblem::SecretMismatch))?;
        let claims = token.claims().map_err(|problem| self.invalid(problem))?;
        Ok((index, claims))
    }

    /// When the token was issued, if it is valid now. A token with neither an issue time nor an expiry would be valid
    /// forever, and is refused.
    fn check_time(&self, claims: &Map<String, Value>, now: i64) -> Result<Option<i64>, Rejection> {
        let tolerance = i64::from(self.rule.tolerance_seconds);
        let time = |name: &str| match claims.get(name) {
            None => Ok(None),
            Some(value) => unix_seconds(value)
                .map(Some)
                .ok_or_else(|| self.invalid(SignatureProblem::Unreadable)),
        };
        let (issued, begins, ends) = (time("iat")?, time("nbf")?, time("exp")?);
        let refused = |signed_at: Option<i64>| Rejection::TimestampOutOfRange {
            signed_at,
            received_at: now,
            tolerance_seconds: self.rule.tolerance_seconds,
        };
        let early = [issued, begins].into_iter().flatten();
        if let Some(at) = early.max().filter(|at| at.saturating_sub(now) > tolerance) {
            return Err(refused(Some(at)));
        }
        match ends.or(issued) {
            None => Err(refused(None)),
            Some(at) if now.saturating_sub(at) > tolerance => Err(refused(Some(at))),
            Some(_) => Ok(issued),
        }
    }

    /// Whether the issuer and the audience are the required ones.
    fn check_parties(&self, claims: &Map<String, Value>) -> Result<(), Rejection> {
        let says = |name: &str, wanted: &str| match claims.get(name) {
            Some(Value::String(text)) => text == wanted,
            Some(Value::Array(several)) => several.iter().any(|text| text == wanted),
            Some(_) | None => false,
        };
        for (name, wanted) in [("iss", &self.rule.issuer), ("aud", &self.rule.audience)] {
            if let Some(wanted) = wanted.as_deref().filter(|wanted| !says(name, wanted)) {
                return Err(Rejection::NotForUs {
                    problem: format!("the token's `{name}` is not `{wanted}`"),
                });
            }
        }
        Ok(())
    }

    fn check_body(&self, claims: &Map<String, Value>, body: &[u8]) -> Result<(), Rejection> {
        match &self.rule.body_hash {
            Some(hash) if !hash.names(claims, body) => Err(self.invalid(SignatureProblem::BodyMismatch)),
            Some(_) | None => Ok(()),
        }
    }
}

impl Prove for JwtProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let (index, claims) = trace.step("token", self.check(request), |(index, _)| {
            format!("signed with secret {} of {}", index + 1, self.keys.len())
        })?;
        let time = self.check_time(&claims, request.received_at);
        let signed_at = trace.step("time", time, |_| {
            format!("it may be used at {}", request.received_at)
        })?;
        trace.step("parties", self.check_parties(&claims), |()| {
            "issuer and audience are as configured".to_owned()
        })?;
        trace.step("body", self.check_body(&claims, request.body), |()| {
            match &self.rule.body_hash {
                Some(_) => "it has the hash that the token names".to_owned(),
                None => "not signed: anyone who has seen a token can send anything with it until it expires"
                    .to_owned(),
            }
        })?;
        let id = claims.get("jti").and_then(Value::as_str);
        Ok(Proven {
            secret_index: Some(index),
            signed_at,
            facts: id.map(|id| ("jti", id.to_owned())).into_iter().collect(),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        self.rule.path.find(request).is_some()
    }

    fn covers(&self, place: &ValuePath) -> bool {
        match (place, place.origin()) {
            (ValuePath::Proof(_), _) => true,
            (_, Origin::Body) => self.rule.body_hash.is_some(),
            (_, Origin::Header(_) | Origin::Url) => false,
        }
    }
}

/// Seconds, possibly with a fraction.
fn unix_seconds(value: &Value) -> Option<i64> {
    value
        .as_i64()
        .or_else(|| value.as_f64().map(|seconds| seconds as i64))
}

pub(super) fn signer(rule: &JwtRule, secret: &str) -> Result<Box<dyn Sign>, SetupError> {
    let key = SigningKey::new(rule, secret).map_err(|problem| SetupError::Secret { position: 1, problem })?;
    Ok(Box::new(JwtSigner {
        rule: rule.clone(),
        key,
    }))
}

struct JwtSigner {
    rule: JwtRule,
    key: SigningKey,
}

impl Sign for JwtSigner {
    fn sign(&self, delivery: &mut Delivery) {
        let mut claims = json!({
            "iat": delivery.timestamp,
            "exp": delivery.timestamp.saturating_add(LIFETIME_SECONDS),
            "jti": delivery.id,
        });
        for (name, value) in [("iss", &self.rule.issuer), ("aud", &self.rule.audience)] {
            if let Some(value) = value {
                claims[name] = value.as_str().into();
            }
        }
        if let Some(hash) = &self.rule.body_hash {
            claims[hash.claim.as_str()] = hash.text(&delivery.body).into();
        }
        let unsigned = unsigned(&json!({"alg": self.rule.algorithm.name(), "typ": "JWT"}), &claims);
        let signature = self.key.sign(unsigned.as_bytes());
        self.rule.path.put(&signed(&unsigned, &signature), delivery);
    }
}
