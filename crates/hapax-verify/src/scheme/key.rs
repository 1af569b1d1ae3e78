//! From a secret's text to key bytes: which kind of signature a secret belongs to, and its bytes.
//!
//! The same prefix means different things to different providers, so nothing is guessed here: the rule is data.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::{KeyEncoding, KeyRule, SignatureKind, entities};
use crate::pem::pem_block;
use crate::setup::SecretProblem;

/// Secrets are copied by hand and may lose their padding; signatures are not.
const FORGIVING_BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The kind of signature that a secret is for: determined by its prefix, or else the first kind that does not require
/// one.
pub(crate) fn select(
    kinds: &[SignatureKind],
    secret: &str,
    prefix_of: fn(&KeyRule) -> Option<&str>,
) -> Result<usize, SecretProblem> {
    if secret.is_empty() {
        return Err(SecretProblem::Empty);
    }
    let by_prefix = kinds
        .iter()
        .position(|kind| prefix_of(&kind.key).is_some_and(|prefix| secret.starts_with(prefix)));
    if let Some(index) = by_prefix {
        return Ok(index);
    }
    kinds
        .iter()
        .position(|kind| kind.key.prefix.is_none() || kind.key.prefix_optional)
        .ok_or_else(|| SecretProblem::PrefixMissing {
            expected: expected_prefixes(kinds, prefix_of),
        })
}

/// The key bytes of a secret, after the given prefix if present.
pub(crate) fn derive(
    encoding: KeyEncoding,
    prefix: Option<&str>,
    secret: &str,
) -> Result<Vec<u8>, SecretProblem> {
    let stripped = prefix.and_then(|prefix| secret.strip_prefix(prefix));
    let taken_off = stripped.and(prefix).map(str::to_owned);
    let text = stripped.unwrap_or(secret);
    let bytes = match encoding {
        KeyEncoding::Utf8 => text.as_bytes().to_vec(),
        KeyEncoding::Base64 => pem(text)
            .or_else(|| FORGIVING_BASE64.decode(text).ok())
            .ok_or(SecretProblem::NotBase64 { prefix: taken_off })?,
        KeyEncoding::Hex => hex::decode(text).map_err(|_| SecretProblem::NotHex { prefix: taken_off })?,
        KeyEncoding::Entities => entities::decode(text).into_bytes(),
    };
    if bytes.is_empty() {
        return Err(SecretProblem::Empty);
    }
    Ok(bytes)
}

/// The bytes of a PEM block, the usual format of key pairs.
fn pem(text: &str) -> Option<Vec<u8>> {
    pem_block(text, "PUBLIC KEY").or_else(|| pem_block(text, "PRIVATE KEY"))
}

/// Random bytes in padded base64.
pub(crate) fn base64_secret(random: &[u8]) -> String {
    FORGIVING_BASE64.encode(random)
}

fn expected_prefixes(kinds: &[SignatureKind], prefix_of: fn(&KeyRule) -> Option<&str>) -> String {
    let prefixes: Vec<&str> = kinds.iter().filter_map(|kind| prefix_of(&kind.key)).collect();
    prefixes.join(" or ")
}

/// The prefix of the secret that signs: the private half of a key pair, or the shared secret.
pub(crate) fn private_prefix(rule: &KeyRule) -> Option<&str> {
    rule.private_prefix.as_deref().or(rule.prefix.as_deref())
}
