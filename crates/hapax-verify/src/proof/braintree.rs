//! Braintree: a form with a payload that is signed under one or more API keys. The payload is XML in base64.
//!
//! The values that identify an event are extracted from the XML after verification, without a general XML parser:
//! nothing is expanded and nothing is fetched.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::code::Code;
use super::keyed::KeyedHashes;
use super::{Prove, Proven, Setup, Stop, invalid};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::handshake::braintree::is_challenge;
use crate::identity::ValuePath;
use crate::limits::SIGNATURES_MAX;
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::{Request, form_value};
use crate::setup::{SecretProblem, SetupError};
use crate::trace::Trace;

const PLACE: &str = "form:bt_signature";
const SIGNATURE: &str = "bt_signature";
const PAYLOAD: &str = "bt_payload";
const PUBLIC_KEY: &str = "public_key";

pub(super) struct Braintree;

struct BraintreeProof {
    keys: KeyedHashes,
    public_key: String,
}

impl Code for Braintree {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(Box::new(BraintreeProof::new(setup.secrets, setup.options)?))
    }

    fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError> {
        Ok(Box::new(BraintreeProof::new(&[secret], options)?))
    }

    fn summary(&self) -> &'static str {
        "hmac-sha1 in hexadecimal over the text in `bt_payload`, under the hash of the private key"
    }
}

impl BraintreeProof {
    fn new(secrets: &[&str], options: &Options) -> Result<Self, SetupError> {
        let public_key = options.text(PUBLIC_KEY);
        Ok(BraintreeProof {
            keys: KeyedHashes::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, secrets, hashed_key)?,
            public_key: public_key
                .ok_or(SetupError::OptionMissing { name: PUBLIC_KEY })?
                .to_owned(),
        })
    }

    fn check(&self, request: &Request<'_>) -> Result<(usize, String), Rejection> {
        let field = |name: &str| {
            form_value(request.body, name).ok_or_else(|| Rejection::SignatureNotInBody {
                place: format!("form:{name}"),
            })
        };
        let (signatures, payload) = (field(SIGNATURE)?, field(PAYLOAD)?);
        let signature = self.own_signature(&signatures)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+=/\n".contains(&byte);
        if !payload.bytes().all(plain) {
            return Err(invalid(PLACE, SignatureProblem::Unreadable));
        }
        if is_challenge(payload.trim_end_matches('\n')) {
            let problem =
                SignatureProblem::Refused("the text is a challenge, and challenges are signed for anyone");
            return Err(invalid(PLACE, problem));
        }
        // Some proxies remove the final newline, which was signed.
        let endings: [&[u8]; 2] = [b"", b"\n"];
        let matching = |ending: &&[u8]| self.keys.matching(&[payload.as_bytes(), ending], &signature);
        let index = endings.iter().find_map(matching);
        let index = index.ok_or_else(|| invalid(PLACE, SignatureProblem::Mismatch))?;
        Ok((index, payload))
    }

    /// The signature for our public key: `key|signature`, several joined with `&`.
    fn own_signature(&self, signatures: &str) -> Result<Vec<u8>, Rejection> {
        let pairs = signatures.split('&').take(SIGNATURES_MAX);
        let mut pairs = pairs.filter_map(|pair| pair.split_once('|'));
        let (_, signature) = pairs
            .find(|(key, _)| *key == self.public_key)
            .ok_or_else(|| invalid(PLACE, SignatureProblem::NoKnownVersion))?;
        let undecodable = |_| invalid(PLACE, SignatureProblem::NotDecodable(Encoding::Hex));
        hex::decode(signature).map_err(undecodable)
    }
}

impl Prove for BraintreeProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let (index, payload) = trace.step("signature", self.check(request), |(index, _)| {
            format!("made with secret {} of {}", index + 1, self.keys.count())
        })?;
        Ok(Proven {
            secret_index: Some(index),
            facts: facts(&payload),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        form_value(request.body, SIGNATURE).is_some()
    }

    fn is_in_body(&self) -> bool {
        true
    }

    fn covers(&self, place: &ValuePath) -> bool {
        match place {
            ValuePath::Proof(_) => true,
            ValuePath::Header(_)
            | ValuePath::Query(_)
            | ValuePath::Body(_)
            | ValuePath::Form(_)
            | ValuePath::BodySha256
            | ValuePath::Request(_)
            | ValuePath::RequestSha256
            | ValuePath::Index
            | ValuePath::Present(_)
            | ValuePath::Flag(_)
            | ValuePath::Text(_) => false,
        }
    }
}

impl Sign for BraintreeProof {
    /// The body of an unsigned delivery is the XML.
    fn sign(&self, delivery: &mut Delivery) {
        let payload = format!("{}\n", STANDARD.encode(&delivery.body));
        let signature = hex::encode(self.keys.hash(&[payload.as_bytes()]));
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair(SIGNATURE, &format!("{}|{signature}", self.public_key))
            .append_pair(PAYLOAD, &payload)
            .finish();
        delivery.body = form.into_bytes();
        delivery.set_header("content-type", "application/x-www-form-urlencoded");
    }
}

/// The kind, the timestamp and the subject's id, as far as the XML has them, and the hash of the XML. The form around
/// it is not signed, and contains a signature for each key.
fn facts(payload: &str) -> Vec<(&'static str, String)> {
    let encoded: String = payload.split('\n').collect();
    let xml = STANDARD
        .decode(encoded)
        .ok()
        .and_then(|xml| String::from_utf8(xml).ok());
    let Some(xml) = xml else {
        return Vec::new();
    };
    let fact = |name: &'static str| Some((name, element(&xml, name)?.to_owned()));
    let mut facts: Vec<_> = ["kind", "timestamp", "id"].into_iter().filter_map(fact).collect();
    facts.push(("sha256", hex::encode(digest(&SHA256, xml.as_bytes()))));
    facts
}

/// The text of the first element with this name that contains only text.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (opening, closing) = (format!("<{name}"), format!("</{name}>"));
    let mut rest = xml;
    while let Some(at) = rest.find(&opening) {
        rest = rest.get(at + opening.len()..)?;
        let named = rest.starts_with(|next: char| next == '>' || next.is_ascii_whitespace());
        let (attributes, inside) = rest.split_once('>')?;
        let text = inside.split('<').next().unwrap_or_default();
        let closed = inside.get(text.len()..)?.starts_with(&closing);
        if named && closed && !attributes.ends_with('/') && !text.is_empty() {
            return Some(text);
        }
    }
    None
}

fn hashed_key(secret: &str) -> Result<Vec<u8>, SecretProblem> {
    if secret.is_empty() {
        return Err(SecretProblem::Empty);
    }
    Ok(digest(&SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes())
        .as_ref()
        .to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_element_with_text_counts() {
        let xml = "<n><ids>9</ids><timestamp type=\"datetime\">t</timestamp><id/><id><x/></id><id>a</id><id>b</id></n>";
        assert_eq!(element(xml, "id"), Some("a"));
        assert_eq!(element(xml, "timestamp"), Some("t"));
        assert_eq!(element(xml, "kind"), None);
        assert_eq!(element("<id", "id"), None);
        assert_eq!(element("<id>a</ie>", "id"), None);
    }
}
