//! Why a delivery is refused: the likely mistake, found by trial.
//!
//! A refusal states that the signature does not match, which is all that is certain. Most refusals have one of a few
//! causes, and each can be tested: if the signature matches once a final newline is restored, something along the way
//! removed it. Nothing is accepted here, and the findings are for the receiver's operators, never for the client.
//!
//! There is one file per kind of mistake; each makes a bounded number of attempts.

mod body;
mod json;
mod mistake;
mod secret;
mod sender;
mod url;

pub use mistake::{BodyChange, Mistake};

use crate::limits::DIAGNOSIS_BODY_BYTES_MAX;
use crate::rejection::Rejection;
use crate::request::Request;
use crate::verifier::Verifier;

/// Another holder whose secrets may have signed the delivery by mistake.
#[derive(Debug, Clone, Copy)]
pub struct Suspect<'a> {
    /// The holder of the secrets.
    pub holder: Holder<'a>,
    /// The verifier with the secrets.
    pub verifier: &'a Verifier,
}

/// Who else holds secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder<'a> {
    /// Another source with this name.
    Source(&'a str),
    /// This source, with secrets that it used before.
    Older,
}

impl Verifier {
    /// The likely mistake behind a refusal; `None` if the request is not refused, or if no attempt matches.
    ///
    /// This costs a few hundred verifications at most. A caller that is exposed to strangers must limit how often it
    /// calls this.
    pub fn diagnose(&self, request: &Request<'_>, suspects: &[Suspect<'_>]) -> Option<Mistake> {
        let rejection = self.verify(request).err()?;
        if rejection.status() != 401 || request.body.len() > DIAGNOSIS_BODY_BYTES_MAX {
            return None;
        }
        if let Rejection::SignatureMissing { .. } = rejection {
            return sender::find(self, request);
        }
        clock(self, request, &rejection)
            .or_else(|| secret::find(self, request, suspects))
            .or_else(|| url::find(self, request))
            .or_else(|| body::find(self, request))
    }
}

/// A valid signature with a time that is out of range.
fn clock(verifier: &Verifier, request: &Request<'_>, rejection: &Rejection) -> Option<Mistake> {
    let Rejection::TimestampOutOfRange {
        signed_at: Some(signed_at),
        received_at,
        ..
    } = *rejection
    else {
        return None;
    };
    let off_by_seconds = received_at.saturating_sub(signed_at);
    verifier
        .proves(request)
        .then_some(Mistake::Clock { off_by_seconds })
}
