//! A source's own scheme, as configured in `hapax.toml`: `verify = { scheme = "hmac-sha256", header = "x-signature", …
//! }`.

mod proof;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::encoding::Encoding;
use crate::limits::{TOLERANCE_SECONDS_DEFAULT, TOLERANCE_SECONDS_MAX};
use crate::proof::JwtAlgorithm;
use crate::request::header_name;
use crate::scheme::{
    Algorithm, HeaderFormat, HeadersRead, KeyEncoding, KeyRule, Scheme, SignatureKind, Template,
    TimestampPath, TimestampRule, TimestampUnit, comma,
};
use crate::setup::SetupError;

/// The `verify` table of a source without a preset: how its provider proves its identity. Each scheme uses some of the
/// keys; a key that it does not use is refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomScheme {
    /// The kind of proof.
    pub scheme: CustomKind,
    /// The header that contains the signature or token.
    #[serde(default)]
    pub header: Option<String>,
    /// The query parameter that contains the token.
    #[serde(default)]
    pub query: Option<String>,
    /// The encoding of the signature, or of a token's body hash; hexadecimal by default.
    #[serde(default)]
    pub encoding: Option<Encoding>,
    /// The text before the signature or token in its header.
    #[serde(default)]
    pub prefix: Option<String>,
    /// The template of the signed content; the body by default.
    #[serde(default)]
    pub signed: Option<String>,
    /// The header that contains the signed timestamp.
    #[serde(default)]
    pub timestamp_header: Option<String>,
    /// The unit of the signed timestamp; seconds by default.
    #[serde(default)]
    pub timestamp_unit: Option<TimestampUnit>,
    /// How far the timestamp may be off, such as `"5m"`, in both directions.
    #[serde(default)]
    pub tolerance: Option<String>,
    /// The header that `{id}` reads.
    #[serde(default)]
    pub id_header: Option<String>,
    /// How the secret's text is decoded into key bytes. By default the text itself is the key; an Ed25519 public key is
    /// hexadecimal, and a P-256 public key is PEM or base64.
    #[serde(default)]
    pub key: Option<KeyEncoding>,
    /// The prefix of the secret, which is not part of the key.
    #[serde(default)]
    pub key_prefix: Option<String>,
    /// The algorithm of a JSON Web Token.
    #[serde(default)]
    pub algorithm: Option<JwtAlgorithm>,
    /// The required issuer of the token.
    #[serde(default)]
    pub issuer: Option<String>,
    /// The required audience of the token.
    #[serde(default)]
    pub audience: Option<String>,
    /// The token's claim that holds the SHA-256 of the body.
    #[serde(default)]
    pub body_hash_claim: Option<String>,
}

/// The values of `scheme`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum CustomKind {
    /// An HMAC-SHA-1 signature.
    #[serde(rename = "hmac-sha1")]
    HmacSha1,
    /// An HMAC-SHA-256 signature.
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
    /// An HMAC-SHA-512 signature.
    #[serde(rename = "hmac-sha512")]
    HmacSha512,
    /// An Ed25519 signature.
    #[serde(rename = "ed25519")]
    Ed25519,
    /// An ECDSA signature on P-256.
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    /// A JSON Web Token.
    #[serde(rename = "jwt")]
    Jwt,
    /// A shared secret sent with the request.
    #[serde(rename = "token")]
    Token,
    /// A user name and a password sent with the request.
    #[serde(rename = "basic")]
    Basic,
}

impl CustomKind {
    /// The algorithm, if it is a signature over the request.
    fn algorithm(self) -> Option<Algorithm> {
        match self {
            CustomKind::HmacSha1 => Some(Algorithm::HmacSha1),
            CustomKind::HmacSha256 => Some(Algorithm::HmacSha256),
            CustomKind::HmacSha512 => Some(Algorithm::HmacSha512),
            CustomKind::Ed25519 => Some(Algorithm::Ed25519),
            CustomKind::EcdsaP256 => Some(Algorithm::EcdsaP256),
            CustomKind::Jwt | CustomKind::Token | CustomKind::Basic => None,
        }
    }

    /// The name in the configuration.
    fn name(self) -> &'static str {
        match self {
            CustomKind::HmacSha1 => "hmac-sha1",
            CustomKind::HmacSha256 => "hmac-sha256",
            CustomKind::HmacSha512 => "hmac-sha512",
            CustomKind::Ed25519 => "ed25519",
            CustomKind::EcdsaP256 => "ecdsa-p256",
            CustomKind::Jwt => "jwt",
            CustomKind::Token => "token",
            CustomKind::Basic => "basic",
        }
    }

    /// The keys that the scheme uses.
    fn keys(self) -> &'static [&'static str] {
        match self {
            CustomKind::HmacSha1
            | CustomKind::HmacSha256
            | CustomKind::HmacSha512
            | CustomKind::Ed25519
            | CustomKind::EcdsaP256 => &[
                "header",
                "encoding",
                "prefix",
                "signed",
                "timestamp_header",
                "timestamp_unit",
                "tolerance",
                "id_header",
                "key",
                "key_prefix",
            ],
            CustomKind::Jwt => &[
                "algorithm",
                "header",
                "prefix",
                "issuer",
                "audience",
                "body_hash_claim",
                "encoding",
                "tolerance",
                "key",
            ],
            CustomKind::Token => &["header", "prefix", "query"],
            CustomKind::Basic => &[],
        }
    }
}

impl CustomScheme {
    /// Refuses a key that the scheme does not use: its author would expect an effect.
    fn check_keys(&self) -> Result<(), SetupError> {
        let written = [
            ("header", self.header.is_some()),
            ("query", self.query.is_some()),
            ("encoding", self.encoding.is_some()),
            ("prefix", self.prefix.is_some()),
            ("signed", self.signed.is_some()),
            ("timestamp_header", self.timestamp_header.is_some()),
            ("timestamp_unit", self.timestamp_unit.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("id_header", self.id_header.is_some()),
            ("key", self.key.is_some()),
            ("key_prefix", self.key_prefix.is_some()),
            ("algorithm", self.algorithm.is_some()),
            ("issuer", self.issuer.is_some()),
            ("audience", self.audience.is_some()),
            ("body_hash_claim", self.body_hash_claim.is_some()),
        ];
        let known = self.scheme.keys();
        let unused = written
            .iter()
            .find(|(key, is_set)| *is_set && !known.contains(key));
        match unused {
            Some((key, _)) => Err(SetupError::VerifyKeyUnused {
                scheme: self.scheme.name(),
                key,
                known,
            }),
            None => Ok(()),
        }
    }

    /// The error for a missing key.
    fn missing(&self, key: &'static str, what: &'static str) -> SetupError {
        SetupError::VerifyKeyMissing {
            scheme: self.scheme.name(),
            key,
            what,
        }
    }
}

impl TryFrom<CustomScheme> for Scheme {
    type Error = SetupError;

    fn try_from(custom: CustomScheme) -> Result<Self, Self::Error> {
        custom.check_keys()?;
        let algorithm = custom
            .scheme
            .algorithm()
            .ok_or(SetupError::SchemeIncomplete { what: "signature" })?;
        let header = custom.header.as_deref();
        let header = header.ok_or_else(|| custom.missing("header", "the header that holds the signature"))?;
        let signed: Template = custom.signed.as_deref().unwrap_or("{body}").parse()?;
        if !signed.covers_body() {
            return Err(SetupError::BodyNotSigned);
        }
        if custom.timestamp_header.is_none() && custom.tolerance.is_some() {
            return Err(SetupError::TimestampPlaceMissing);
        }
        let timestamp = match &custom.timestamp_header {
            None => None,
            Some(name) => Some(TimestampRule {
                path: TimestampPath::Headers(vec![header_name(name)?]),
                unit: custom.timestamp_unit.unwrap_or_default(),
                tolerance_seconds: tolerance_seconds(custom.tolerance.as_deref())?,
            }),
        };
        let default_key = match algorithm {
            Algorithm::HmacSha1 | Algorithm::HmacSha256 | Algorithm::HmacSha512 => KeyEncoding::Utf8,
            Algorithm::Ed25519 => KeyEncoding::Hex,
            Algorithm::EcdsaP256 => KeyEncoding::Base64,
        };
        let scheme = Scheme {
            headers: vec![header_name(header)?],
            headers_read: HeadersRead::First,
            format: HeaderFormat::Plain {
                prefix: custom.prefix.unwrap_or_default(),
                prefix_optional: false,
            },
            separator: comma(),
            fixed_headers: BTreeMap::new(),
            signed,
            id_headers: custom
                .id_header
                .iter()
                .map(|name| header_name(name))
                .collect::<Result<_, _>>()?,
            timestamp,
            signatures: vec![SignatureKind {
                label: String::new(),
                header: None,
                key_option: None,
                algorithm,
                encoding: custom.encoding.unwrap_or(Encoding::Hex),
                key: KeyRule {
                    encoding: custom.key.unwrap_or(default_key),
                    prefix: custom.key_prefix,
                    prefix_optional: true,
                    private_prefix: None,
                },
            }],
            url_option: None,
            named_keys: None,
        };
        scheme.check()?;
        Ok(scheme)
    }
}

fn tolerance_seconds(text: Option<&str>) -> Result<u32, SetupError> {
    let Some(text) = text else {
        return Ok(TOLERANCE_SECONDS_DEFAULT);
    };
    let refused = || SetupError::Tolerance {
        text: text.to_owned(),
    };
    let unit_at = text
        .find(|character: char| !character.is_ascii_digit())
        .ok_or_else(refused)?;
    let (number, unit) = text.split_at(unit_at);
    let seconds_per_unit: u32 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(refused()),
    };
    let seconds = number
        .parse::<u32>()
        .ok()
        .and_then(|number| number.checked_mul(seconds_per_unit));
    seconds
        .filter(|seconds| (1..=TOLERANCE_SECONDS_MAX).contains(seconds))
        .ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(text: &str) -> Result<Scheme, SetupError> {
        toml::from_str::<CustomScheme>(text).unwrap().try_into()
    }

    #[test]
    fn the_documented_table_is_understood() {
        let scheme = scheme(
            r#"
            scheme = "hmac-sha256"
            header = "X-Signature"
            encoding = "hex"
            prefix = "sha256="
            signed = "{timestamp}.{body}"
            timestamp_header = "x-timestamp"
            tolerance = "5m"
            "#,
        )
        .unwrap();
        assert_eq!(scheme.headers, ["x-signature"]);
        assert_eq!(scheme.timestamp.unwrap().tolerance_seconds, 300);
    }

    #[test]
    fn a_scheme_that_protects_nothing_is_refused_with_the_reason() {
        let base = "scheme = \"hmac-sha256\"\nheader = \"x-signature\"\n";
        for (more, error) in [
            (
                "signed = \"{timestamp}\"\ntimestamp_header = \"x-t\"",
                SetupError::BodyNotSigned,
            ),
            ("timestamp_header = \"x-t\"", SetupError::TimestampNotSigned),
            (
                "signed = \"{timestamp}{body}\"",
                SetupError::TimestampPlaceMissing,
            ),
            ("tolerance = \"5m\"", SetupError::TimestampPlaceMissing),
            ("signed = \"{id}{body}\"", SetupError::IdPlaceMissing),
            (
                "signed = \"{id}{body}\"\nid_header = \"x-id\"",
                SetupError::PartsCanMove {
                    first: "{id}".to_owned(),
                    second: "{body}".to_owned(),
                    example: "{id}.{body}".to_owned(),
                },
            ),
        ] {
            assert_eq!(scheme(&format!("{base}{more}")).unwrap_err(), error, "{more}");
        }
    }

    #[test]
    fn a_tolerance_is_a_number_with_a_unit_and_has_a_limit() {
        for (text, seconds) in [("90s", 90), ("5m", 300), ("1h", 3600), ("1d", 86_400)] {
            assert_eq!(tolerance_seconds(Some(text)), Ok(seconds));
        }
        for text in ["", "5", "m", "0s", "2d", "5 m", "-5m", "99999999999s", "5min"] {
            assert!(tolerance_seconds(Some(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let error =
            toml::from_str::<CustomScheme>("scheme = \"hmac-sha256\"\nheader = \"x\"\ntolerence = \"5m\"")
                .unwrap_err();
        assert!(error.to_string().contains("tolerence"));
    }
}
