//! What senders want answered before they deliver anything.
//!
//! A handshake that is signed is answered once it is verified. One that nobody can verify is answered only where the
//! answer is a mere echo: nothing is stored and nothing is called.

use aws_lc_rs::hmac;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::verdict::HandshakeAnswer;
use crate::{Options, Rejection, Request, Verdict};

/// A handshake that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// Slack's `url_verification`: signed; the challenge is the answer.
    SlackChallenge,
    /// Zoom's `endpoint.url_validation`: signed; the answer proves that we know the secret.
    ZoomValidation,
    /// A HEAD request to see that the URL is there.
    Head,
}

/// What a handshake is answered with.
pub(crate) struct Knowledge<'a> {
    pub(crate) secrets: &'a [String],
    pub(crate) options: &'a Options,
}

impl Handshake {
    /// The answer to what cannot be verified; `None` if the request is something else.
    pub(crate) fn unverified(
        self,
        request: &Request<'_>,
        knowledge: &Knowledge<'_>,
    ) -> Option<Result<Verdict, Rejection>> {
        // Used by the handshakes whose answer depends on an option.
        let _ = knowledge.options;
        match self {
            Handshake::Head if request.method == "HEAD" => {
                Some(Ok(Verdict::Handshake(HandshakeAnswer::empty())))
            }
            Handshake::Head | Handshake::SlackChallenge | Handshake::ZoomValidation => None,
        }
    }

    /// The answer to a request that is verified; `None` if it is something else.
    pub(crate) fn verified(
        self,
        request: &Request<'_>,
        knowledge: &Knowledge<'_>,
        secret_index: Option<usize>,
    ) -> Option<Result<Verdict, Rejection>> {
        match self {
            Handshake::SlackChallenge => {
                let challenge = slack_challenge(request)?;
                Some(Ok(Verdict::Handshake(HandshakeAnswer::text(challenge))))
            }
            Handshake::ZoomValidation => {
                let secret = knowledge.secrets.get(secret_index?)?;
                let answer = zoom_answer(request, secret)?;
                Some(Ok(Verdict::Handshake(HandshakeAnswer::json(&answer))))
            }
            Handshake::Head => None,
        }
    }
}

fn slack_challenge(request: &Request<'_>) -> Option<String> {
    // Only a small body can be one, so that no delivery is parsed for nothing.
    let body = small_json(request)?;
    let is_challenge = body.get("type")?.as_str()? == "url_verification";
    let challenge = body.get("challenge")?.as_str()?;
    is_challenge.then(|| challenge.to_owned())
}

fn zoom_answer(request: &Request<'_>, secret: &str) -> Option<Value> {
    let body = small_json(request)?;
    if body.get("event")?.as_str()? != "endpoint.url_validation" {
        return None;
    }
    let plain = body.pointer("/payload/plainToken")?.as_str()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let encrypted = hex::encode(hmac::sign(&key, plain.as_bytes()));
    Some(json!({ "plainToken": plain, "encryptedToken": encrypted }))
}

/// The longest body that is looked at for a handshake.
const HANDSHAKE_BYTES_MAX: usize = 4096;

/// The body of a request that is short enough to be a handshake.
fn small_json(request: &Request<'_>) -> Option<Value> {
    if request.body.len() > HANDSHAKE_BYTES_MAX {
        return None;
    }
    serde_json::from_slice(request.body).ok()
}
