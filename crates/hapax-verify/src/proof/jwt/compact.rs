//! A token in its compact form: three parts separated by dots.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::JwtAlgorithm;
use crate::rejection::SignatureProblem;

/// A parsed token; none of it is trusted yet.
pub(in crate::proof) struct Compact<'a> {
    /// The text that the signature covers.
    pub(in crate::proof) signed: &'a str,
    /// The id of the key, if the token names one.
    pub(in crate::proof) key_id: Option<String>,
    pub(in crate::proof) signature: Vec<u8>,
    claims: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    /// Extensions that must be understood. None is supported.
    #[serde(default)]
    crit: Option<Value>,
}

impl<'a> Compact<'a> {
    /// Parses a token that is signed with this algorithm. The token never chooses the algorithm.
    pub(in crate::proof) fn parse(text: &'a str, algorithm: JwtAlgorithm) -> Result<Self, SignatureProblem> {
        let unreadable = SignatureProblem::Unreadable;
        let (signed, signature) = text.rsplit_once('.').ok_or(unreadable)?;
        let (header, claims) = signed.split_once('.').ok_or(unreadable)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| unreadable);
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| unreadable)?;
        if header.alg != algorithm.name() {
            return Err(SignatureProblem::Refused(algorithm.only()));
        }
        if header.crit.is_some() {
            return Err(SignatureProblem::Refused("no critical extension is supported"));
        }
        Ok(Compact {
            signed,
            key_id: header.kid,
            claims: decode(claims)?,
            signature: decode(signature)?,
        })
    }

    /// The claims, to be read once the token is verified.
    pub(in crate::proof) fn claims<T: DeserializeOwned>(&self) -> Result<T, SignatureProblem> {
        serde_json::from_slice(&self.claims).map_err(|_| SignatureProblem::Unreadable)
    }
}

/// The text of a token without its signature, to be signed.
pub(in crate::proof) fn unsigned(header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", encode(header), encode(claims))
}

/// The token with its signature.
pub(in crate::proof) fn signed(unsigned: &str, signature: &[u8]) -> String {
    format!("{unsigned}.{}", URL_SAFE_NO_PAD.encode(signature))
}
