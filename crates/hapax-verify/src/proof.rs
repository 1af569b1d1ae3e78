//! How a provider proves that it sent a request.
//!
//! Most proofs are data: a [`Scheme`] that describes what is signed, or a token that is sent with the request. The
//! others are code, one file each.

mod any;
mod certificate;
mod code;
mod coded;
mod instant;
mod jwt;
mod key_url;
mod keyed;
mod public_key;
mod signature;
mod token;

mod adyen;
mod aws_sns;
mod braintree;
mod contentful;
mod hubspot;
mod mailgun;
mod paypal;
mod plaid;
mod twilio;

pub use coded::Coded;
pub use jwt::{BodyHashClaim, JwtAlgorithm, JwtRule};
pub use signature::Signer;
pub use token::{TokenPath, TokenRule};

use serde::Deserialize;
use signature::{SignatureProof, sent_name};

use crate::delivery::Sign;
use crate::identity::ValuePath;
use crate::keys::KeyRequest;
use crate::limits::SIGNATURE_HEADER_BYTES_MAX;
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::scheme::Scheme;
use crate::setup::SetupError;
use crate::trace::Trace;
use crate::verification::Transmission;

/// Headers with credentials for a proxy in front of Hapax, in addition to the provider's own proof.
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// How a provider proves that it sent a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// A signature described by data.
    Signature(Scheme),
    /// A shared secret sent with the request. Anyone who sees one request can send others.
    Token(TokenRule),
    /// A signed token sent with the request. It covers the body only if it names the body's hash.
    Jwt(JwtRule),
    /// Any of these: the first one present in the request counts.
    Any(Vec<Proof>),
    /// A proof that data cannot describe.
    #[serde(untagged)]
    Coded(Coded),
}

/// The input for compiling a proof.
pub(crate) struct Setup<'a> {
    pub(crate) secrets: &'a [&'a str],
    pub(crate) options: &'a Options,
}

/// A proof, compiled with its secrets.
pub(crate) trait Prove: Send + Sync {
    /// Verifies a request.
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop>;

    /// Whether the request contains any part of this proof, valid or not.
    fn applies(&self, request: &Request<'_>) -> bool;

    /// Whether the proof may be in the body, so that headers without it prove nothing yet.
    fn is_in_body(&self) -> bool {
        false
    }

    /// Whether a valid proof guarantees that nobody has changed the value at this location.
    fn covers(&self, path: &ValuePath) -> bool;

    /// Whether the first of these headers that is present is covered.
    fn covers_first_of(&self, headers: &[String]) -> bool {
        headers
            .iter()
            .all(|header| self.covers(&ValuePath::Header(header.clone())))
    }
}

/// What was proven.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Proven {
    /// The index of the secret that matched, counted from 0.
    pub(crate) secret_index: Option<usize>,
    /// The signed timestamp, in Unix seconds.
    pub(crate) signed_at: Option<i64>,
    /// The transmission, if it is signed instead of the body.
    pub(crate) transmission: Option<Transmission>,
    /// Values read from a body that is neither JSON nor a form; `proof:NAME` refers to them.
    pub(crate) facts: Vec<(&'static str, String)>,
}

/// Why verification stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    Rejected(Rejection),
    NeedsKey(KeyRequest),
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Stop::Rejected(rejection)
    }
}

impl Proof {
    pub(crate) fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(match self {
            Proof::Signature(scheme) => Box::new(SignatureProof::new(scheme.clone(), setup)?),
            Proof::Token(rule) => Box::new(token::TokenProof::new(rule, setup)?),
            Proof::Jwt(rule) => Box::new(jwt::JwtProof::new(rule, setup)?),
            Proof::Any(proofs) => Box::new(any::AnyProof::new(proofs, setup)?),
            Proof::Coded(coded) => coded.code().compile(setup)?,
        })
    }

    pub(crate) fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError> {
        match self {
            Proof::Signature(scheme) => signature::signer(scheme, secret, options),
            Proof::Token(rule) => Ok(token::signer(rule, secret, options)),
            Proof::Jwt(rule) => jwt::signer(rule, secret),
            Proof::Any(proofs) => any::signer(proofs, secret, options),
            Proof::Coded(coded) => coded.code().signer(secret, options),
        }
    }

    /// Checks what the data structure alone cannot guarantee.
    pub fn check(&self) -> Result<(), SetupError> {
        match self {
            Proof::Signature(scheme) => scheme.check(),
            Proof::Token(_) | Proof::Jwt(_) | Proof::Coded(_) => Ok(()),
            Proof::Any(proofs) => proofs.iter().try_for_each(Proof::check),
        }
    }

    /// Whether the public URL is signed, so that it has to be configured.
    pub fn covers_url(&self) -> bool {
        match self {
            Proof::Signature(scheme) => scheme.signed.covers_url(),
            Proof::Token(_) | Proof::Jwt(_) => false,
            Proof::Coded(coded) => coded.code().covers_url(),
            Proof::Any(proofs) => proofs.iter().any(Proof::covers_url),
        }
    }

    /// How far a signed timestamp may be off, in seconds; `None` if none is signed.
    pub fn tolerance_seconds(&self) -> Option<u32> {
        match self {
            Proof::Signature(scheme) => scheme.timestamp.as_ref().map(|rule| rule.tolerance_seconds),
            Proof::Token(_) => None,
            Proof::Jwt(rule) => Some(rule.tolerance_seconds),
            Proof::Any(proofs) => proofs.iter().find_map(Proof::tolerance_seconds),
            Proof::Coded(coded) => coded.code().tolerance_seconds(),
        }
    }

    /// The scheme, if the proof is one.
    pub fn scheme(&self) -> Option<&Scheme> {
        match self {
            Proof::Signature(scheme) => Some(scheme),
            Proof::Token(_) | Proof::Jwt(_) | Proof::Any(_) | Proof::Coded(_) => None,
        }
    }

    /// The headers that hold the proof, in lower case.
    pub fn headers(&self) -> Vec<String> {
        match self {
            Proof::Signature(scheme) => scheme.headers.iter().map(|name| sent_name(name)).collect(),
            Proof::Token(rule) => rule.headers(),
            Proof::Jwt(rule) => rule.path.header().into_iter().collect(),
            Proof::Any(proofs) => proofs.iter().flat_map(Proof::headers).collect(),
            Proof::Coded(coded) => coded
                .code()
                .headers()
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
        }
    }

    /// The headers that are sufficient on their own to prove who sent a request, in lower case: with one of them,
    /// anyone could send anything, so they must not be stored. A token that names the body's hash is a signature of
    /// that body.
    pub fn credentials(&self) -> Vec<String> {
        let mut headers = self.tokens();
        headers.extend(CREDENTIALS.map(str::to_owned));
        headers
    }

    /// The fields of a body that prove who sent it and would be valid with another body as well: names of a form, or
    /// keys of a JSON object. They are delivered with the body, but must not be shown to readers.
    pub fn body_credentials(&self) -> Vec<&'static str> {
        match self {
            Proof::Signature(_) | Proof::Token(_) | Proof::Jwt(_) => Vec::new(),
            Proof::Any(proofs) => proofs.iter().flat_map(Proof::body_credentials).collect(),
            Proof::Coded(coded) => coded.code().body_credentials().to_vec(),
        }
    }

    fn tokens(&self) -> Vec<String> {
        match self {
            Proof::Token(_) => self.headers(),
            Proof::Jwt(rule) if rule.body_hash.is_none() => self.headers(),
            Proof::Any(proofs) => proofs.iter().flat_map(Proof::tokens).collect(),
            Proof::Jwt(_) | Proof::Signature(_) | Proof::Coded(_) => Vec::new(),
        }
    }

    /// A short description.
    pub fn summary(&self) -> String {
        match self {
            Proof::Signature(scheme) => scheme.summary(),
            Proof::Token(rule) => rule.summary(),
            Proof::Jwt(rule) => rule.summary(),
            Proof::Any(proofs) => {
                let each: Vec<String> = proofs.iter().map(Proof::summary).collect();
                each.join(", or ")
            }
            Proof::Coded(coded) => coded.code().summary().to_owned(),
        }
    }

    /// Whether a secret has the shape that this proof accepts.
    pub(crate) fn takes(&self, secret: &str) -> bool {
        match self {
            Proof::Signature(scheme) => scheme.takes(secret),
            Proof::Token(rule) => rule.takes(secret),
            Proof::Any(proofs) => proofs.iter().any(|proof| proof.takes(secret)),
            Proof::Jwt(_) | Proof::Coded(_) => true,
        }
    }
}

impl From<Scheme> for Proof {
    fn from(scheme: Scheme) -> Self {
        Proof::Signature(scheme)
    }
}

/// The rejection for an invalid signature.
pub(crate) fn invalid(path: &str, problem: SignatureProblem) -> Rejection {
    Rejection::SignatureInvalid {
        header: path.to_owned(),
        problem,
    }
}

/// A header that is required for verification, as text.
fn required_header<'a>(request: &Request<'a>, name: &str) -> Result<&'a str, Rejection> {
    let value = request.headers.get(name);
    let value = value.ok_or_else(|| Rejection::SignatureMissing {
        header: name.to_owned(),
    })?;
    if value.len() > SIGNATURE_HEADER_BYTES_MAX {
        return Err(invalid(name, SignatureProblem::HeaderTooLong));
    }
    std::str::from_utf8(value).map_err(|_| invalid(name, SignatureProblem::Unreadable))
}
