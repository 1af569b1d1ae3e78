//! Why a delivery is refused: the likely mistake, found by trying it.
//!
//! A refusal says that a signature matches nothing, which is all that is certain. Most refusals have one of a few
//! causes, and each can be tried: if the signature fits once the body has its last newline back, then something on the
//! way took it. Nothing is accepted here, and what is found is for the receiver's people, never for the sender.
//!
//! One file for each kind of mistake; each tries a bounded number of things.

mod body;
mod json;
mod mistake;
mod secret;
mod sender;
mod url;

pub use mistake::{BodyChange, Mistake};

use crate::limits::DIAGNOSIS_BODY_BYTES_MAX;
use crate::{Rejection, Request, Verifier};

/// Someone whose secrets the delivery may have been signed with by mistake.
#[derive(Debug, Clone, Copy)]
pub struct Suspect<'a> {
    /// Who that is.
    pub holder: Holder<'a>,
    /// The verifier that holds the secrets.
    pub verifier: &'a Verifier,
}

/// Who else has secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder<'a> {
    /// Another source with this name.
    Source(&'a str),
    /// This source had them before.
    Older,
}

impl Verifier {
    /// The likely mistake behind a refusal; `None` if the request is not refused, or nothing that was tried fits.
    ///
    /// This costs some hundred verifications at most. Whoever is exposed to strangers has to limit how often it asks.
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

/// A signature that is right, at a time that is not.
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
