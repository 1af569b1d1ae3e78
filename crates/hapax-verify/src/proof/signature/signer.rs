//! Signs with a [`Scheme`], the same description that the verifier uses.

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::content::{Content, concatenate};
use super::headers::sent_name;
use super::keys::{hmac_algorithm, tag};
use crate::encoding::Encoding;
use crate::identity::Pointer;
use crate::scheme::{
    Algorithm, HeaderFormat, Part, Scheme, SignatureKind, TimestampPath, TimestampUnit, derive,
    private_prefix, select,
};
use crate::setup::{SecretProblem, SetupError};

/// Signs deliveries with one secret. Create it once and use it for every delivery.
pub struct Signer {
    scheme: Scheme,
    kind: usize,
    material: Material,
}

enum Material {
    Hmac(Box<hmac::Key>),
    Ed25519(Ed25519KeyPair),
    EcdsaP256(EcdsaKeyPair),
}

impl Signer {
    /// Creates a signer. For Ed25519 the secret is the private key (`whsk_…` in Standard Webhooks).
    pub fn new(scheme: &Scheme, secret: &str) -> Result<Self, SetupError> {
        scheme.check()?;
        let (kind, material) =
            signing_key(scheme, secret).map_err(|problem| SetupError::Secret { position: 1, problem })?;
        Ok(Signer {
            scheme: scheme.clone(),
            kind,
            material,
        })
    }

    /// The headers that prove a delivery: the signature, and the id and timestamp if the scheme sends them in separate
    /// headers. `timestamp` is in Unix seconds.
    ///
    /// If the content covers further headers (`{header:…}`), they are sent and signed empty. Verifiers refuse an id
    /// that contains the separator of the signed content (a `.` in Standard Webhooks), because one signature would be
    /// valid for two requests: use ids without it.
    pub fn sign(
        &self,
        id: &str,
        timestamp: i64,
        method: &str,
        url: &str,
        body: &[u8],
    ) -> Vec<(String, String)> {
        let timestamp = self.timestamp_text(timestamp);
        let content = Content {
            template: &self.scheme.signed,
            id: id.as_bytes(),
            timestamp: timestamp.as_ref().map(String::as_bytes),
            method,
            url,
            body,
            headers: &NO_HEADERS,
        };
        let signature = self.signature(&content);
        let value = self.header_value(&signature, timestamp.as_deref());
        let mut headers = self.other_headers(id, timestamp);
        if let Some(name) = self.kind().header.as_ref().or(self.scheme.headers.first()) {
            headers.push((sent_name(name), value));
        }
        headers
    }

    fn kind(&self) -> &SignatureKind {
        &self.scheme.signatures[self.kind]
    }

    /// The time as it is sent in a separate header or next to the signature.
    fn timestamp_text(&self, timestamp: i64) -> Option<String> {
        let rule = self.scheme.timestamp.as_ref()?;
        match rule.path {
            TimestampPath::Headers(_) | TimestampPath::Key(_) => Some(time_text(rule.unit, timestamp)),
            TimestampPath::Body(_) => None,
        }
    }

    /// The time as JSON and its location, if it is sent inside the body.
    pub(crate) fn time_in_body(&self, timestamp: i64) -> Option<(&Pointer, String)> {
        let rule = self.scheme.timestamp.as_ref()?;
        let TimestampPath::Body(pointer) = &rule.path else {
            return None;
        };
        let text = time_text(rule.unit, timestamp);
        Some(match rule.unit {
            TimestampUnit::Seconds | TimestampUnit::Milliseconds => (pointer, text),
            TimestampUnit::Rfc3339 => (pointer, format!("\"{text}\"")),
        })
    }

    fn signature(&self, content: &Content<'_>) -> String {
        let encode = |bytes: &[u8]| match self.kind().encoding {
            Encoding::Hex => hex::encode(bytes),
            Encoding::Base64 => STANDARD.encode(bytes),
        };
        match &self.material {
            Material::Hmac(key) => encode(tag(key, content).as_ref()),
            Material::Ed25519(pair) => encode(pair.sign(&concatenate(content)).as_ref()),
            // If signing fails, the signature is empty, and thus invalid.
            Material::EcdsaP256(pair) => pair
                .sign(&SystemRandom::new(), &concatenate(content))
                .map_or_else(|_| String::new(), |signature| encode(signature.as_ref())),
        }
    }

    fn header_value(&self, signature: &str, timestamp: Option<&str>) -> String {
        let label = &self.kind().label;
        match (
            &self.scheme.format,
            self.scheme.timestamp.as_ref().map(|rule| &rule.path),
        ) {
            (HeaderFormat::Plain { prefix, .. }, _) => format!("{prefix}{signature}"),
            (HeaderFormat::Labelled, _) => format!("{label},{signature}"),
            (HeaderFormat::KeyValue, Some(TimestampPath::Key(key))) => {
                let (separator, timestamp) = (self.scheme.separator, timestamp.unwrap_or_default());
                format!("{key}={timestamp}{separator}{label}={signature}")
            }
            (HeaderFormat::KeyValue, Some(TimestampPath::Headers(_) | TimestampPath::Body(_)) | None) => {
                format!("{label}={signature}")
            }
        }
    }

    fn other_headers(&self, id: &str, timestamp: Option<String>) -> Vec<(String, String)> {
        let mut headers = Vec::with_capacity(3);
        if let Some(name) = self.scheme.id_headers.first() {
            headers.push((name.clone(), id.to_owned()));
        }
        if let (Some(TimestampPath::Headers(names)), Some(text)) =
            (self.scheme.timestamp.as_ref().map(|rule| &rule.path), timestamp)
        {
            headers.extend(names.first().map(|name| (name.clone(), text)));
        }
        let fixed = self.scheme.fixed_headers.iter();
        headers.extend(fixed.map(|(name, value)| (name.clone(), value.clone())));
        for part in self.scheme.signed.parts() {
            if let Part::Header(name) = part {
                headers.push((name.clone(), String::new()));
            }
        }
        headers
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is omitted on purpose.
        formatter
            .debug_struct("Signer")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

fn time_text(unit: TimestampUnit, timestamp: i64) -> String {
    match unit {
        TimestampUnit::Seconds => timestamp.to_string(),
        TimestampUnit::Milliseconds => timestamp.saturating_mul(1000).to_string(),
        TimestampUnit::Rfc3339 => jiff::Timestamp::from_second(timestamp)
            .unwrap_or_default()
            .to_string(),
    }
}

static NO_HEADERS: [(&str, &str); 0] = [];

fn signing_key(scheme: &Scheme, secret: &str) -> Result<(usize, Material), SecretProblem> {
    refuse_public(scheme, secret)?;
    let kind = select(&scheme.signatures, secret, private_prefix)?;
    let description = &scheme.signatures[kind];
    let bytes = derive(description.key.encoding, private_prefix(&description.key), secret)?;
    let material = match hmac_algorithm(description.algorithm) {
        Some(algorithm) => Material::Hmac(Box::new(hmac::Key::new(algorithm, &bytes))),
        None if description.algorithm == Algorithm::EcdsaP256 => Material::EcdsaP256(p256_key_pair(&bytes)?),
        None => Material::Ed25519(key_pair(&bytes)?),
    };
    Ok((kind, material))
}

fn p256_key_pair(bytes: &[u8]) -> Result<EcdsaKeyPair, SecretProblem> {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, bytes).map_err(|_| {
        SecretProblem::NotASigningKey {
            expected: "a private key on P-256 in PKCS #8, as PEM or base64",
        }
    })
}

/// A private key is the seed, optionally followed by the public key.
fn key_pair(bytes: &[u8]) -> Result<Ed25519KeyPair, SecretProblem> {
    let pair = match bytes.len() {
        32 => Ed25519KeyPair::from_seed_unchecked(bytes),
        64 => Ed25519KeyPair::from_seed_and_public_key(&bytes[..32], &bytes[32..]),
        bytes => return Err(SecretProblem::KeyLength { bytes }),
    };
    pair.map_err(|_| SecretProblem::NotAKey)
}

fn refuse_public(scheme: &Scheme, secret: &str) -> Result<(), SecretProblem> {
    let is_public = scheme.signatures.iter().map(|kind| &kind.key).any(|rule| {
        rule.private_prefix.is_some()
            && rule
                .prefix
                .as_deref()
                .is_some_and(|prefix| secret.starts_with(prefix))
    });
    if is_public {
        Err(SecretProblem::PublicKey)
    } else {
        Ok(())
    }
}
