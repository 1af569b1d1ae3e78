//! A source's own scheme, as `hapax.toml` writes it: `verify = { scheme = "hmac-sha256", header = "x-signature", … }`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::template::header_name;
use super::{
    Algorithm, Encoding, HeaderFormat, HeadersRead, KeyEncoding, KeyRule, Scheme, SignatureKind, Template,
    TimestampPlace, TimestampRule, TimestampUnit, comma,
};
use crate::SetupError;
use crate::limits::{TOLERANCE_SECONDS_DEFAULT, TOLERANCE_SECONDS_MAX};

/// The `verify` table of a source without a preset.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomScheme {
    /// The algorithm: `hmac-sha1`, `hmac-sha256`, `hmac-sha512` or `ed25519`.
    pub scheme: Algorithm,
    /// The header that holds the signature.
    pub header: String,
    /// How the signature is written; hexadecimal unless said.
    #[serde(default = "default_encoding")]
    pub encoding: Encoding,
    /// What stands before the signature in its header.
    #[serde(default)]
    pub prefix: String,
    /// What the signature covers; the body unless said.
    #[serde(default = "default_signed")]
    pub signed: String,
    /// The header that holds the signed timestamp.
    #[serde(default)]
    pub timestamp_header: Option<String>,
    /// The unit of the signed timestamp; seconds unless said.
    #[serde(default)]
    pub timestamp_unit: TimestampUnit,
    /// How far the timestamp may be off, such as `"5m"`, in both directions.
    #[serde(default)]
    pub tolerance: Option<String>,
    /// The header that `{id}` reads.
    #[serde(default)]
    pub id_header: Option<String>,
    /// How the secret's text is turned into key bytes. Unless said, the text is the key itself; an Ed25519 public key is
    /// hexadecimal.
    #[serde(default)]
    pub key: Option<KeyEncoding>,
    /// What stands before the secret and is not part of the key.
    #[serde(default)]
    pub key_prefix: Option<String>,
}

impl TryFrom<CustomScheme> for Scheme {
    type Error = SetupError;

    fn try_from(custom: CustomScheme) -> Result<Self, Self::Error> {
        let signed: Template = custom.signed.parse()?;
        if !signed.covers_body() {
            return Err(SetupError::BodyNotSigned);
        }
        if custom.timestamp_header.is_none() && custom.tolerance.is_some() {
            return Err(SetupError::TimestampPlaceMissing);
        }
        let timestamp = match &custom.timestamp_header {
            None => None,
            Some(name) => Some(TimestampRule {
                place: TimestampPlace::Headers(vec![header_name(name)?]),
                unit: custom.timestamp_unit,
                tolerance_seconds: tolerance_seconds(custom.tolerance.as_deref())?,
            }),
        };
        let default_key = match custom.scheme {
            Algorithm::HmacSha1 | Algorithm::HmacSha256 | Algorithm::HmacSha512 => KeyEncoding::Utf8,
            Algorithm::Ed25519 => KeyEncoding::Hex,
            Algorithm::EcdsaP256 => KeyEncoding::Base64,
        };
        let scheme = Scheme {
            headers: vec![header_name(&custom.header)?],
            headers_read: HeadersRead::First,
            format: HeaderFormat::Plain {
                prefix: custom.prefix,
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
                algorithm: custom.scheme,
                encoding: custom.encoding,
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

fn default_encoding() -> Encoding {
    Encoding::Hex
}

fn default_signed() -> String {
    "{body}".to_owned()
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
