//! A source's own kind of proof, as configured in `hapax.toml`: a signature scheme, a token, or a signed token.

use super::{CustomKind, CustomScheme, tolerance_seconds};
use crate::encoding::Encoding;
use crate::proof::{BodyHashClaim, JwtAlgorithm, JwtRule, Proof, TokenPath, TokenRule};
use crate::request::header_name;
use crate::scheme::{KeyEncoding, Scheme};
use crate::setup::SetupError;

const AUTHORIZATION: &str = "authorization";
const BEARER: &str = "Bearer ";

impl TryFrom<CustomScheme> for Proof {
    type Error = SetupError;

    fn try_from(custom: CustomScheme) -> Result<Self, Self::Error> {
        custom.check_keys()?;
        match custom.scheme {
            CustomKind::HmacSha1
            | CustomKind::HmacSha256
            | CustomKind::HmacSha512
            | CustomKind::Ed25519
            | CustomKind::EcdsaP256 => Scheme::try_from(custom).map(Proof::Signature),
            CustomKind::Jwt => jwt(&custom).map(Proof::Jwt),
            CustomKind::Token => token_place(&custom).map(only),
            CustomKind::Basic => Ok(only(TokenPath::Basic)),
        }
    }
}

fn only(place: TokenPath) -> Proof {
    Proof::Token(TokenRule {
        places: vec![place],
        never_begins_with: None,
        query_option: None,
    })
}

fn token_place(custom: &CustomScheme) -> Result<TokenPath, SetupError> {
    match (custom.header.as_deref(), custom.query.as_deref()) {
        (Some(header), None) => in_header(header, custom.prefix.as_deref().unwrap_or_default()),
        (None, Some("")) => {
            Err(custom.missing("query", "the parameter that contains the token; it is empty"))
        }
        (None, Some(_)) if custom.prefix.is_some() => Err(SetupError::VerifyKeyUnused {
            scheme: "token",
            key: "prefix",
            known: &["query"],
        }),
        (None, Some(name)) => Ok(TokenPath::Query(name.to_owned())),
        (Some(_), Some(_)) => Err(SetupError::VerifyKeyUnused {
            scheme: "token",
            key: "query",
            known: &["header", "prefix"],
        }),
        (None, None) => Err(custom.missing(
            "header` or `query",
            "the header, or the parameter of the query, that holds the token",
        )),
    }
}

fn in_header(header: &str, prefix: &str) -> Result<TokenPath, SetupError> {
    let header = header_name(header)?;
    Ok(match prefix {
        "" => TokenPath::Header(header),
        BEARER if header == AUTHORIZATION => TokenPath::Bearer,
        prefix => TokenPath::Prefixed {
            header,
            prefix: prefix.to_owned(),
        },
    })
}

fn jwt(custom: &CustomScheme) -> Result<JwtRule, SetupError> {
    let algorithm = custom.algorithm.ok_or_else(|| {
        custom.missing(
            "algorithm",
            "\"HS256\", \"ES256\" or \"RS256\"; a token never chooses for itself",
        )
    })?;
    if algorithm != JwtAlgorithm::Hs256 && custom.key.is_some() {
        return Err(SetupError::VerifyKeyUnused {
            scheme: "jwt",
            key: "key",
            known: &[],
        });
    }
    if custom.body_hash_claim.is_none() && custom.encoding.is_some() {
        return Err(custom.missing("body_hash_claim", "`encoding` is the encoding of the hash in it"));
    }
    let place = match (custom.header.as_deref(), custom.prefix.as_deref()) {
        (None, prefix) => in_header(AUTHORIZATION, prefix.unwrap_or(BEARER))?,
        (Some(header), Some(prefix)) => in_header(header, prefix)?,
        (Some(header), None) if header.eq_ignore_ascii_case(AUTHORIZATION) => TokenPath::Bearer,
        (Some(header), None) => in_header(header, "")?,
    };
    Ok(JwtRule {
        path: place,
        algorithm,
        key: custom.key.unwrap_or(KeyEncoding::Utf8),
        issuer: custom.issuer.clone(),
        audience: custom.audience.clone(),
        body_hash: custom.body_hash_claim.as_ref().map(|claim| BodyHashClaim {
            claim: claim.clone(),
            encoding: custom.encoding.unwrap_or(Encoding::Hex),
        }),
        tolerance_seconds: tolerance_seconds(custom.tolerance.as_deref())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(text: &str) -> Result<Proof, SetupError> {
        toml::from_str::<CustomScheme>(text).unwrap().try_into()
    }

    #[test]
    fn the_documented_tables_are_understood() {
        for (text, summary) in [
            (
                "scheme = \"token\"\nheader = \"X-Token\"",
                "a shared token in x-token",
            ),
            (
                "scheme = \"token\"\nheader = \"Authorization\"\nprefix = \"Bearer \"",
                "a shared token in authorization (Bearer)",
            ),
            ("scheme = \"token\"\nquery = \"key\"", "a shared token in ?key="),
            ("scheme = \"basic\"", "a shared token in authorization (Basic)"),
            (
                "scheme = \"jwt\"\nalgorithm = \"HS256\"",
                "a token in authorization (Bearer), signed with HS256, that does not cover the body",
            ),
            (
                "scheme = \"jwt\"\nalgorithm = \"RS256\"\nheader = \"x-jwt\"\nbody_hash_claim = \"body\"",
                "a token in x-jwt, signed with RS256, that names the sha256 of the body in `body`",
            ),
            (
                "scheme = \"ecdsa-p256\"\nheader = \"x-signature\"\nencoding = \"base64\"",
                "ecdsa-p256 in base64 over `{body}`",
            ),
        ] {
            assert_eq!(proof(text).unwrap().summary(), summary, "{text}");
        }
    }

    #[test]
    fn every_key_that_is_missing_or_does_nothing_is_named() {
        for (text, error) in [
            (
                "scheme = \"hmac-sha256\"",
                "`scheme = \"hmac-sha256\"` needs `header`: the header that holds the signature",
            ),
            (
                "scheme = \"token\"",
                "`scheme = \"token\"` needs `header` or `query`: the header, or the parameter of the query, that holds the \
                 token",
            ),
            (
                "scheme = \"token\"\nheader = \"x\"\nquery = \"k\"",
                "`scheme = \"token\"` takes no `query`; remove it (it takes `header`, `prefix`)",
            ),
            (
                "scheme = \"token\"\nquery = \"k\"\nprefix = \"p\"",
                "`scheme = \"token\"` takes no `prefix`; remove it (it takes `query`)",
            ),
            (
                "scheme = \"token\"\nheader = \"x\"\nsigned = \"{body}\"",
                "`scheme = \"token\"` takes no `signed`; remove it (it takes `header`, `prefix`, `query`)",
            ),
            (
                "scheme = \"basic\"\nheader = \"x\"",
                "`scheme = \"basic\"` takes no `header`; remove it",
            ),
            (
                "scheme = \"jwt\"",
                "`scheme = \"jwt\"` needs `algorithm`: \"HS256\", \"ES256\" or \"RS256\"; a token never chooses for itself",
            ),
            (
                "scheme = \"jwt\"\nalgorithm = \"ES256\"\nkey = \"hex\"",
                "`scheme = \"jwt\"` takes no `key`; remove it",
            ),
            (
                "scheme = \"jwt\"\nalgorithm = \"HS256\"\nencoding = \"hex\"",
                "`scheme = \"jwt\"` needs `body_hash_claim`: `encoding` is the encoding of the hash in it",
            ),
            (
                "scheme = \"ecdsa-p256\"\nheader = \"x\"\nissuer = \"me\"",
                "`scheme = \"ecdsa-p256\"` takes no `issuer`; remove it (it takes `header`, `encoding`, `prefix`, `signed`, \
                 `timestamp_header`, `timestamp_unit`, `tolerance`, `id_header`, `key`, `key_prefix`)",
            ),
            (
                "scheme = \"token\"\nheader = \"not a name\"",
                "\"not a name\" is not a header name; write it like \"x-signature\"",
            ),
        ] {
            assert_eq!(proof(text).unwrap_err().to_string(), error, "{text}");
        }
    }

    #[test]
    fn an_algorithm_that_is_not_known_is_refused_where_it_is_read() {
        let text = "scheme = \"jwt\"\nalgorithm = \"none\"";
        let error = toml::from_str::<CustomScheme>(text).unwrap_err().to_string();
        assert!(
            error.contains("expected one of `HS256`, `ES256`, `RS256`"),
            "{error}"
        );
    }
}
