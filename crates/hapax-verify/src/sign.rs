//! Signing, as a provider does before it delivers. Used for test deliveries, benchmarks and Hapax's own outgoing
//! requests; based on the same [`Scheme`] as the verifier.

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::catalogue::Provider;
use crate::identity::Pointer;
use crate::proof::{Content, concatenate, hmac_algorithm, sent_name, tag};
use crate::scheme::{
    HeaderFormat, KeyEncoding, KeyRule, Part, SignatureKind, TimestampPath, TimestampUnit, base64_secret,
    derive, select,
};
use crate::setup::SecretProblem;
use crate::{Algorithm, Encoding, Options, Proof, Scheme, SetupError};

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

/// A delivery to be signed, or, once it is signed, to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The id, for providers that send it in a separate header.
    pub id: String,
    /// When it is signed, in Unix seconds.
    pub timestamp: i64,
    /// The HTTP method.
    pub method: String,
    /// The public URL that it is sent to.
    pub url: String,
    /// The request headers.
    pub headers: Vec<(String, String)>,
    /// The request body.
    pub body: Vec<u8>,
}

impl Default for Delivery {
    fn default() -> Self {
        Delivery {
            id: String::new(),
            timestamp: 0,
            method: "POST".to_owned(),
            url: String::new(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }
}

impl Delivery {
    /// Sets a header, replacing its previous value.
    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// Adds a parameter to the URL's query.
    pub(crate) fn add_to_query(&mut self, name: &str, value: &str) {
        let separator = if self.url.contains('?') { '&' } else { '?' };
        let pair = form_urlencoded::Serializer::new(String::new())
            .append_pair(name, value)
            .finish();
        self.url.push(separator);
        self.url.push_str(&pair);
    }
}

/// Signs a delivery: adds headers, or changes the URL or the body, as the provider does.
pub(crate) trait Sign: Send + Sync {
    fn sign(&self, delivery: &mut Delivery);

    /// Whether it adds the secret itself.
    fn sends_secret(&self) -> bool {
        false
    }
}

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

fn private_prefix(rule: &KeyRule) -> Option<&str> {
    rule.private_prefix.as_deref().or(rule.prefix.as_deref())
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
