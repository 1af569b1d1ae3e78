//! A signature scheme as data: where the signature is, what it covers, its encoding, and how its key is derived.
//!
//! Presets define it in the catalogue's files, sources through [`CustomScheme`](crate::CustomScheme). The verifier and
//! the signer both use this one description, so they cannot disagree.

mod entities;
mod key;
mod template;

pub(crate) use key::{base64_secret, derive, private_prefix, select};
pub(crate) use template::Part;
pub use template::Template;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::encoding::Encoding;
use crate::identity::Pointer;
use crate::setup::SetupError;

/// How a provider signs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// The headers that may contain the signature, in lower case. A name that ends in `-*` stands for `-1`, `-2` and so
    /// on.
    pub headers: Vec<String>,
    /// Which of the headers count.
    #[serde(default)]
    pub headers_read: HeadersRead,
    /// The format of the header.
    pub format: HeaderFormat,
    /// The separator between the entries of a [`HeaderFormat::KeyValue`] header.
    #[serde(default = "comma")]
    pub separator: char,
    /// Headers that must have exactly these values. With any other value, the provider signs in another way.
    #[serde(default)]
    pub fixed_headers: BTreeMap<String, String>,
    /// The content that the signature covers.
    pub signed: Template,
    /// The headers that `{id}` reads; the first that is present counts.
    #[serde(default)]
    pub id_headers: Vec<String>,
    /// The signed timestamp, if there is one.
    #[serde(default)]
    pub timestamp: Option<TimestampRule>,
    /// The known kinds of signature, each with its algorithm and key.
    pub signatures: Vec<SignatureKind>,
    /// The option with the URL that the provider calls, if it signs the URL.
    #[serde(default)]
    pub url_option: Option<String>,
    /// How a request names the key that it was signed with.
    #[serde(default)]
    pub named_keys: Option<NamedKeys>,
}

/// Which of a scheme's headers count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadersRead {
    /// The first one that is present.
    #[default]
    First,
    /// All of them, and every signature in a comma-separated list.
    Every,
}

/// Named keys, one of which a request refers to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedKeys {
    /// The header that names the key.
    pub header: String,
    /// The option with a table of keys by name.
    pub option: String,
}

/// The format of a signature header.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum HeaderFormat {
    /// One signature after a prefix (`sha256=…`), which may be empty.
    Plain {
        /// The text before the signature.
        #[serde(default)]
        prefix: String,
        /// Whether a signature without the prefix is accepted, too.
        #[serde(default)]
        prefix_optional: bool,
    },
    /// `key=value` entries, such as `t=…,v1=…,v1=…`; each signature's label is its key.
    KeyValue,
    /// `label,signature` entries separated by spaces (`v1,… v1a,…`).
    Labelled,
}

/// Where the signed timestamp is, and its tolerance.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimestampRule {
    /// The location of the timestamp.
    pub path: TimestampPath,
    /// The unit of the timestamp.
    #[serde(default)]
    pub unit: TimestampUnit,
    /// The maximum distance from the time of arrival, into the past and into the future.
    pub tolerance_seconds: u32,
}

/// The location of a signed timestamp.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimestampPath {
    /// In a separate header; the first that is present counts.
    Headers(Vec<String>),
    /// Under this key of a [`HeaderFormat::KeyValue`] signature header.
    Key(String),
    /// Inside the signed JSON body. It is read only after the signature was verified.
    Body(Pointer),
}

/// The unit of a signed timestamp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimestampUnit {
    /// Unix seconds.
    #[default]
    Seconds,
    /// Unix milliseconds.
    Milliseconds,
    /// An RFC 3339 date and time, signed as it is written.
    Rfc3339,
}

/// One kind of signature that a header may contain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureKind {
    /// The label or key of its entries; empty if the header format has none.
    #[serde(default)]
    pub label: String,
    /// The only header that contains it; by default any of them.
    #[serde(default)]
    pub header: Option<String>,
    /// The option with a key for this kind alone; the secrets apply to every kind that accepts them.
    #[serde(default)]
    pub key_option: Option<String>,
    /// The signature algorithm.
    pub algorithm: Algorithm,
    /// The encoding of the signature.
    pub encoding: Encoding,
    /// How the key is derived from the secret's text.
    #[serde(default)]
    pub key: KeyRule,
}

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Algorithm {
    /// HMAC with SHA-1: still secure as a keyed hash, and the only option of a few providers.
    #[serde(rename = "hmac-sha1")]
    HmacSha1,
    /// HMAC with SHA-256.
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
    /// HMAC with SHA-512.
    #[serde(rename = "hmac-sha512")]
    HmacSha512,
    /// Ed25519; the secret is the provider's public key.
    #[serde(rename = "ed25519")]
    Ed25519,
    /// ECDSA on P-256 with SHA-256, with signatures in DER; the secret is the provider's public key in DER.
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
}

/// How a key is derived from a secret's text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRule {
    /// How the text is decoded.
    #[serde(default)]
    pub encoding: KeyEncoding,
    /// The prefix of the encoded bytes, which is not part of the key. It also determines the kind of a secret.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Whether a secret without the prefix may also be of this kind.
    #[serde(default)]
    pub prefix_optional: bool,
    /// The prefix of the private half, if verification uses the public one.
    #[serde(default)]
    pub private_prefix: Option<String>,
}

/// How a secret's text is decoded into key bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyEncoding {
    /// The text itself is the key.
    #[default]
    Utf8,
    /// The text is base64.
    Base64,
    /// The text is hexadecimal.
    Hex,
    /// The text itself is the key, after its HTML entities are decoded as WordPress does.
    Entities,
}

pub(crate) fn comma() -> char {
    ','
}

impl Scheme {
    /// A short description.
    pub(crate) fn summary(&self) -> String {
        let kinds: Vec<String> = self
            .signatures
            .iter()
            .map(|kind| format!("{} in {}", kind.algorithm, kind.encoding))
            .collect();
        format!("{} over `{}`", kinds.join(" or "), self.signed)
    }

    /// Whether a secret has the shape of one of the kinds.
    pub(crate) fn takes(&self, secret: &str) -> bool {
        select(&self.signatures, secret, |rule| rule.prefix.as_deref()).is_ok()
            || select(&self.signatures, secret, |rule| rule.private_prefix.as_deref()).is_ok()
    }

    /// Checks what the data structure alone cannot guarantee, so that no request can exploit a gap in the scheme.
    pub fn check(&self) -> Result<(), SetupError> {
        if self.headers.is_empty() {
            return Err(SetupError::SchemeIncomplete { what: "header" });
        }
        if self.signatures.is_empty() {
            return Err(SetupError::SchemeIncomplete { what: "signature" });
        }
        let covers = |wanted: &Part| self.signed.parts().contains(wanted);
        if covers(&Part::Id) && self.id_headers.is_empty() {
            return Err(SetupError::IdPlaceMissing);
        }
        if covers(&Part::Timestamp) && self.timestamp.is_none() {
            return Err(SetupError::TimestampPlaceMissing);
        }
        if let Some((first, second)) = self.signed.movable() {
            let example = match first {
                Part::Body => format!("{second}.{first}"),
                _ => format!("{first}.{second}"),
            };
            return Err(SetupError::PartsCanMove {
                first: first.to_string(),
                second: second.to_string(),
                example,
            });
        }
        if let Some(rule) = &self.timestamp {
            let covered = match &rule.path {
                TimestampPath::Headers(_) | TimestampPath::Key(_) => Part::Timestamp,
                TimestampPath::Body(_) => Part::Body,
            };
            if !covers(&covered) {
                return Err(SetupError::TimestampNotSigned);
            }
            let reachable = match &rule.path {
                TimestampPath::Headers(names) => !names.is_empty(),
                TimestampPath::Key(_) => self.format == HeaderFormat::KeyValue,
                TimestampPath::Body(_) => !covers(&Part::Timestamp),
            };
            if !reachable {
                return Err(SetupError::TimestampPlaceMissing);
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Algorithm::HmacSha1 => "hmac-sha1",
            Algorithm::HmacSha256 => "hmac-sha256",
            Algorithm::HmacSha512 => "hmac-sha512",
            Algorithm::Ed25519 => "ed25519",
            Algorithm::EcdsaP256 => "ecdsa-p256",
        })
    }
}
