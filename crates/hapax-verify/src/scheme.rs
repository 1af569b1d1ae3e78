//! A signature scheme as data: where the signature is, what it covers, how it is written and how its key is made.
//!
//! Presets read it from the catalogue's files, sources from [`CustomScheme`]; the verifier and the signer both work
//! from this one description, so that they cannot disagree.

mod custom;
mod entities;
mod key;
mod template;

pub(crate) use custom::tolerance_seconds;
pub use custom::{CustomKind, CustomScheme};
pub(crate) use key::{base64_secret, derive, select};
pub use template::Template;
pub(crate) use template::{Part, header_name};

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::SetupError;
use crate::identity::Pointer;

/// How a sender signs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// The headers that may hold the signature, in lower case. A name that ends in `-*` stands for `-1`, `-2` and so on.
    pub headers: Vec<String>,
    /// Which of them count.
    #[serde(default)]
    pub headers_read: HeadersRead,
    /// How the header is written.
    pub format: HeaderFormat,
    /// What stands between the entries of a [`HeaderFormat::KeyValue`] header.
    #[serde(default = "comma")]
    pub separator: char,
    /// Headers that have to say this. Where they say anything else, the sender signs in another way.
    #[serde(default)]
    pub fixed_headers: BTreeMap<String, String>,
    /// The bytes that the signature covers.
    pub signed: Template,
    /// The headers that `{id}` reads; the first that is present counts.
    #[serde(default)]
    pub id_headers: Vec<String>,
    /// The signed timestamp, if there is one.
    #[serde(default)]
    pub timestamp: Option<TimestampRule>,
    /// The kinds of signature that are known, each with its algorithm and key.
    pub signatures: Vec<SignatureKind>,
    /// The option that says which URL the sender was given, where it signs that one.
    #[serde(default)]
    pub url_option: Option<String>,
    /// How a request says which of several named keys it was signed with.
    #[serde(default)]
    pub named_keys: Option<NamedKeys>,
}

/// Which of a scheme's headers count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadersRead {
    /// The first that is present.
    #[default]
    First,
    /// Every one, and every signature in a list separated by commas.
    Every,
}

/// Keys with names, one of which a request names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedKeys {
    /// The header that names the key.
    pub header: String,
    /// The option that holds a table of keys by name.
    pub option: String,
}

/// How a signature header is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum HeaderFormat {
    /// One signature, after a prefix (`sha256=…`); an empty prefix is none.
    Plain {
        /// What stands before the signature.
        #[serde(default)]
        prefix: String,
        /// Whether a signature without the prefix is one too.
        #[serde(default)]
        prefix_optional: bool,
    },
    /// `key=value` entries, such as `t=…,v1=…,v1=…`; each signature's label is its key.
    KeyValue,
    /// `label,signature` entries separated by spaces (`v1,… v1a,…`).
    Labelled,
}

/// Where the signed timestamp is, and how far it may be off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimestampRule {
    /// Where it is.
    pub path: TimestampPath,
    /// Its unit.
    #[serde(default)]
    pub unit: TimestampUnit,
    /// How far it may be from the time of arrival, into the past and into the future alike.
    pub tolerance_seconds: u32,
}

/// Where a signed timestamp is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimestampPath {
    /// In a header of its own; the first that is present counts.
    Headers(Vec<String>),
    /// Under this key of a [`HeaderFormat::KeyValue`] signature header.
    Key(String),
    /// Inside the signed JSON body. It is read once the signature is known to be right.
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
    /// A date and time by RFC 3339, signed as it is written.
    Rfc3339,
}

/// One kind of signature that a header may hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureKind {
    /// The label or key of its entries; empty where the header format has none.
    #[serde(default)]
    pub label: String,
    /// The only one of the headers that holds it; any of them unless said.
    #[serde(default)]
    pub header: Option<String>,
    /// The option that holds a key for this kind alone; the secrets are for every kind that takes them.
    #[serde(default)]
    pub key_option: Option<String>,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// How the signature is written.
    pub encoding: Encoding,
    /// How the key is made from the secret's text.
    #[serde(default)]
    pub key: KeyRule,
}

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Algorithm {
    /// HMAC with SHA-1; as a keyed hash it still holds, and a few senders offer nothing else.
    #[serde(rename = "hmac-sha1")]
    HmacSha1,
    /// HMAC with SHA-256.
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
    /// HMAC with SHA-512.
    #[serde(rename = "hmac-sha512")]
    HmacSha512,
    /// Ed25519; the secret is the sender's public key.
    #[serde(rename = "ed25519")]
    Ed25519,
    /// ECDSA on P-256 with SHA-256, its signature in DER; the secret is the sender's public key in DER.
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
}

/// How bytes are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Hexadecimal, in either case.
    Hex,
    /// Base64 with the standard alphabet and padding.
    Base64,
}

/// How a key is made from a secret's text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRule {
    /// How the text is turned into bytes.
    #[serde(default)]
    pub encoding: KeyEncoding,
    /// What stands before the encoded bytes and is not part of the key. It also says which kind a secret belongs to.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Whether a secret without the prefix may be of this kind all the same.
    #[serde(default)]
    pub prefix_optional: bool,
    /// The prefix of the private half, where verification takes the public one.
    #[serde(default)]
    pub private_prefix: Option<String>,
}

/// How a secret's text is turned into key bytes.
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
    /// The text itself is the key, after the HTML entities in it are decoded as WordPress does.
    Entities,
}

fn comma() -> char {
    ','
}

impl Scheme {
    /// What it is, in a few words.
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

    /// Checks what the shape alone cannot promise, so that a request never finds a hole in the scheme.
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

impl std::fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Encoding::Hex => "hexadecimal",
            Encoding::Base64 => "base64",
        })
    }
}
