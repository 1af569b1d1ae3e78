//! `[sources.NAME.verify]`: how a sender without a preset proves itself.

use std::time::Duration;

use hapax_verify::{CustomScheme, Proof};
use serde::Deserialize as _;
use toml::Value;

use crate::section::Section;
use crate::setting::{Key, Table};

pub(super) static VERIFY_TABLE: Key<toml::Table> = Key::optional(
    "verify",
    "How requests are signed, for a provider that is not in the catalogue; see `[sources.NAME.verify]`.",
);

static SCHEME: Key<String> = Key::required(
    "scheme",
    "A signature: `hmac-sha1`, `hmac-sha256`, `hmac-sha512`, `ed25519` or `ecdsa-p256`. A signed token: `jwt`. A shared secret that is sent with the request: `token`, or `basic` as `user:password`.",
);

static HEADER: Key<String> = Key::depends(
    "header",
    "`authorization` for `jwt`; otherwise required",
    "The header that contains the signature or token.",
);

static QUERY: Key<String> = Key::optional(
    "query",
    "`token`: the query parameter that contains it, instead of a header.",
);

static ENCODING: Key<String> = Key::with_default(
    "encoding",
    "hex",
    "The encoding of the signature, or of the hash in `body_hash_claim`: `hex` or `base64`. Signatures of `ecdsa-p256` are DER.",
);

static PREFIX: Key<String> = Key::depends(
    "prefix",
    "`Bearer ` for `jwt` in `authorization`",
    "The text before the signature or token in its header, such as `sha256=`.",
);

static SIGNED: Key<String> = Key::with_default(
    "signed",
    "{body}",
    "What the signature covers: text with `{body}`, `{timestamp}`, `{id}`, `{method}`, `{url}` and `{header:NAME}`.",
);

static TIMESTAMP_HEADER: Key<String> =
    Key::optional("timestamp_header", "The header that `{timestamp}` reads.");

static TIMESTAMP_UNIT: Key<String> = Key::with_default(
    "timestamp_unit",
    "seconds",
    "The unit of the timestamp: `seconds` or `milliseconds`.",
);

static TOLERANCE: Key<Duration> = Key::with_default(
    "tolerance",
    "5m",
    "How far the timestamp may be off, in both directions; at most a day. `jwt`: how far clocks may differ from `exp`, `nbf` and `iat`, and how old a token without `exp` may be.",
);

static ID_HEADER: Key<String> = Key::optional("id_header", "The header that `{id}` reads.");

static KEY: Key<String> = Key::depends(
    "key",
    "`utf8`; for `ed25519` `hex`, for `ecdsa-p256` `base64`",
    "The encoding of the secret: `utf8`, `base64` or `hex`. The public key of `ecdsa-p256`, or of `jwt` with `ES256` or `RS256`, is PEM or base64.",
);

static KEY_PREFIX: Key<String> = Key::optional(
    "key_prefix",
    "The text before the secret that is not part of the key.",
);

static ALGORITHM: Key<String> = Key::optional(
    "algorithm",
    "`jwt`, required there: `HS256` with the secrets, or `ES256` or `RS256` with the sender's public key. A token that names another is refused.",
);

static ISSUER: Key<String> = Key::optional("issuer", "`jwt`: what `iss` has to be.");

static AUDIENCE: Key<String> = Key::optional("audience", "`jwt`: what `aud` has to be, or contain.");

static BODY_HASH_CLAIM: Key<String> = Key::optional(
    "body_hash_claim",
    "`jwt`: the claim that contains the SHA-256 of the body. Without it, the token does not cover the body: anyone who sees a token can send anything with it until it expires.",
);

pub(crate) static VERIFY: Table = Table {
    header: "[sources.NAME.verify]",
    help: "How requests of a provider that is not in the catalogue are verified. Each scheme uses some of these keys; others are refused. The guide `docs/guides/custom-sources.md` has an example of each.",
    keys: &[
        &SCHEME,
        &HEADER,
        &QUERY,
        &ENCODING,
        &PREFIX,
        &SIGNED,
        &TIMESTAMP_HEADER,
        &TIMESTAMP_UNIT,
        &TOLERANCE,
        &ID_HEADER,
        &KEY,
        &KEY_PREFIX,
        &ALGORITHM,
        &ISSUER,
        &AUDIENCE,
        &BODY_HASH_CLAIM,
    ],
};

/// The proof that the table describes.
pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Option<Proof> {
    let value = section.table(&VERIFY_TABLE)?;
    let path = section.path(&VERIFY_TABLE);
    let problems = section.report.problems.len();
    // Opened to report its unknown keys, with the closest known key as a suggestion.
    section.inner(&VERIFY_TABLE, &VERIFY);
    if section.report.problems.len() > problems {
        return None;
    }
    let deserializer = toml::de::ValueDeserializer::from(value.clone());
    let custom = match CustomScheme::deserialize(deserializer) {
        Ok(custom) => custom,
        Err(error) => {
            let place = section.report.place_of(&error.span().unwrap_or(value.span()));
            section
                .report
                .problem_at(place, format!("{path}: {}", error.message()));
            return None;
        }
    };
    let written = Value::deserialize(toml::de::ValueDeserializer::from(value.clone())).ok()?;
    let proof = Proof::try_from(custom)
        .map_err(|error| section.problem(&VERIFY_TABLE, error))
        .ok()?;
    section.show(&VERIFY_TABLE, written);
    Some(proof)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_verify_table_has_the_keys_that_the_verifier_reads() {
        let table: toml::Table = toml::from_str("no_such_key = 1").unwrap();
        let error = hapax_verify::CustomScheme::deserialize(table)
            .unwrap_err()
            .to_string();
        let (_, expected) = error.split_once("expected one of ").unwrap();
        let read: BTreeSet<&str> = expected
            .lines()
            .next()
            .unwrap_or_default()
            .split(", ")
            .map(|name| name.trim_matches('`'))
            .collect();
        assert_eq!(read, VERIFY.names().collect());
    }
}
