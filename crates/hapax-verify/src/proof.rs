//! How a sender proves that it sent a request.
//!
//! Most proofs are data: a [`Scheme`] of what is signed, or a token that is sent along. The others are code, one file each.

mod any;
mod signature;
mod token;

pub(crate) use signature::{Content, SignatureProof, concatenate, hmac_algorithm, tag};
pub use token::{TokenPlace, TokenRule};

use serde::Deserialize;

use crate::identity::Place;
use crate::sign::Sign;
use crate::trace::Trace;
use crate::{KeyRequest, Options, Rejection, Request, Scheme, SetupError};

/// How a sender proves that it sent a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// A signature that is described by data.
    Signature(Scheme),
    /// A shared secret that is sent along. Whoever sees one request can send others.
    Token(TokenRule),
    /// Any of these: the first that the request has anything of counts.
    Any(Vec<Proof>),
}

/// What a proof is compiled with.
pub(crate) struct Setup<'a> {
    pub(crate) secrets: &'a [&'a str],
    pub(crate) options: &'a Options,
}

/// A proof, compiled with its secrets.
pub(crate) trait Prove: Send + Sync {
    /// Checks a request.
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop>;

    /// Whether the request has anything of this proof, right or wrong.
    fn applies(&self, request: &Request<'_>) -> bool;

    /// Whether nobody can change what is at this place under a genuine proof.
    fn covers(&self, place: &Place) -> bool;

    /// Whether the first of these headers that is present is covered.
    fn covers_first_of(&self, headers: &[String]) -> bool {
        headers
            .iter()
            .all(|header| self.covers(&Place::Header(header.clone())))
    }
}

/// What was proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Proven {
    /// Which of the secrets matched, counted from 0.
    pub(crate) secret_index: Option<usize>,
    /// The timestamp that is covered, in unix seconds.
    pub(crate) signed_at: Option<i64>,
}

/// Why a proof ended early.
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
            Proof::Token(rule) => Box::new(token::TokenProof::new(rule.clone(), setup)),
            Proof::Any(proofs) => Box::new(any::AnyProof::new(proofs, setup)?),
        })
    }

    pub(crate) fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError> {
        match self {
            Proof::Signature(scheme) => signature::signer(scheme, secret, options),
            Proof::Token(rule) => Ok(token::signer(rule, secret)),
            Proof::Any(proofs) => any::signer(proofs, secret, options),
        }
    }

    /// Checks what the shape alone cannot promise.
    pub fn check(&self) -> Result<(), SetupError> {
        match self {
            Proof::Signature(scheme) => scheme.check(),
            Proof::Token(_) => Ok(()),
            Proof::Any(proofs) => proofs.iter().try_for_each(Proof::check),
        }
    }

    /// Whether the public URL is part of what is signed, so that it has to be configured.
    pub fn covers_url(&self) -> bool {
        match self {
            Proof::Signature(scheme) => scheme.signed.covers_url(),
            Proof::Token(_) => false,
            Proof::Any(proofs) => proofs.iter().any(Proof::covers_url),
        }
    }

    /// How far a signed timestamp may be off, in seconds; nothing where none is signed.
    pub fn tolerance_seconds(&self) -> Option<u32> {
        match self {
            Proof::Signature(scheme) => scheme.timestamp.as_ref().map(|rule| rule.tolerance_seconds),
            Proof::Token(_) => None,
            Proof::Any(proofs) => proofs.iter().find_map(Proof::tolerance_seconds),
        }
    }

    /// The scheme, where the proof is one.
    pub fn scheme(&self) -> Option<&Scheme> {
        match self {
            Proof::Signature(scheme) => Some(scheme),
            Proof::Token(_) | Proof::Any(_) => None,
        }
    }

    /// The headers that hold the proof, in lower case.
    pub fn headers(&self) -> Vec<String> {
        match self {
            Proof::Signature(scheme) => scheme.headers.clone(),
            Proof::Token(rule) => rule.headers(),
            Proof::Any(proofs) => proofs.iter().flat_map(Proof::headers).collect(),
        }
    }

    /// What it is, in a few words.
    pub fn summary(&self) -> String {
        match self {
            Proof::Signature(scheme) => scheme.summary(),
            Proof::Token(rule) => rule.summary(),
            Proof::Any(proofs) => {
                let each: Vec<String> = proofs.iter().map(Proof::summary).collect();
                each.join(", or ")
            }
        }
    }

    /// Whether a secret has the shape that this proof takes.
    pub(crate) fn takes(&self, secret: &str) -> bool {
        match self {
            Proof::Signature(scheme) => scheme.takes(secret),
            Proof::Token(rule) => rule.takes(secret),
            Proof::Any(proofs) => proofs.iter().any(|proof| proof.takes(secret)),
        }
    }
}
