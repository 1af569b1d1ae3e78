//! What senders want answered before they deliver anything: one file for each handshake.
//!
//! A handshake that is signed is answered once it is verified. One that no one can verify is answered only where the
//! answer is a mere echo: nothing is stored and nothing is called.

mod asana;
pub(crate) mod braintree;
mod cloud_events;
mod discord;
mod dropbox;
mod event_grid;
mod meta;
mod slack;
mod sns;
mod twitch;
mod woocommerce;
mod zoom;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::limits::{HANDSHAKE_BODY_BYTES_MAX, HANDSHAKE_ECHO_BYTES_MAX};
use crate::request::json_text;
use crate::verification::HandshakeAnswer;
use crate::{Options, Rejection, Request, Verification};

/// A handshake that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// Slack's `url_verification`: signed; the challenge is the answer.
    SlackChallenge,
    /// Zoom's `endpoint.url_validation`: signed; the answer proves that we know the secret.
    ZoomValidation,
    /// Twitch's `webhook_callback_verification`: signed; the challenge is the answer.
    TwitchChallenge,
    /// Discord's PING, of interactions and of webhook events: signed.
    DiscordPing,
    /// Event Grid's subscription validation, by POST or OPTIONS: proven by the token.
    EventGridValidation,
    /// SNS asks to have a subscription confirmed by calling a URL: signed.
    SnsConfirmation,
    /// Meta's `hub.challenge`: proven by the option `verify_token`.
    MetaChallenge,
    /// Braintree's `bt_challenge`: not proven; the answer proves that we know the private key.
    BraintreeChallenge,
    /// Dropbox's `challenge`: not proven, and merely echoed.
    DropboxChallenge,
    /// A CloudEvents sender asks whether it may deliver: answered by the option `allowed_origins`.
    CloudEventsOptions,
    /// WooCommerce's ping: not signed; it only wants to see 200.
    WoocommercePing,
    /// Asana hands over the secret that it will sign with.
    AsanaSecret,
    /// A HEAD request to see that the URL is there.
    Head,
}

/// What a handshake is answered with.
pub(crate) struct Knowledge<'a> {
    pub(crate) secrets: &'a [String],
    pub(crate) options: &'a Options,
}

/// The answer to a handshake, or why it is refused; `None` if the request is something else.
type Answered = Option<Result<Verification, Rejection>>;

impl Handshake {
    /// The answer to what the proof cannot verify; `None` if the request is something else.
    pub(crate) fn unverified(self, request: &Request<'_>, knowledge: &Knowledge<'_>) -> Answered {
        match self {
            Handshake::MetaChallenge => meta::answer(request, knowledge.options),
            Handshake::BraintreeChallenge => braintree::answer(request, knowledge),
            Handshake::DropboxChallenge => dropbox::answer(request),
            Handshake::CloudEventsOptions => cloud_events::answer(request, knowledge.options),
            Handshake::WoocommercePing => woocommerce::answer(request),
            Handshake::AsanaSecret => asana::answer(request),
            Handshake::Head => (request.method == "HEAD").then(|| Ok(answered(HandshakeAnswer::empty()))),
            Handshake::SlackChallenge
            | Handshake::ZoomValidation
            | Handshake::TwitchChallenge
            | Handshake::DiscordPing
            | Handshake::EventGridValidation
            | Handshake::SnsConfirmation => None,
        }
    }

    /// Whether only the body tells this handshake, and no proof comes with it.
    pub(crate) fn is_in_body(self) -> bool {
        match self {
            Handshake::WoocommercePing => true,
            Handshake::MetaChallenge
            | Handshake::BraintreeChallenge
            | Handshake::DropboxChallenge
            | Handshake::CloudEventsOptions
            | Handshake::AsanaSecret
            | Handshake::Head
            | Handshake::SlackChallenge
            | Handshake::ZoomValidation
            | Handshake::TwitchChallenge
            | Handshake::DiscordPing
            | Handshake::EventGridValidation
            | Handshake::SnsConfirmation => false,
        }
    }

    /// The answer to a request that is verified; `None` if it is something else.
    pub(crate) fn verified(
        self,
        request: &Request<'_>,
        knowledge: &Knowledge<'_>,
        secret_index: Option<usize>,
    ) -> Answered {
        match self {
            Handshake::SlackChallenge => slack::answer(request),
            Handshake::ZoomValidation => zoom::answer(request, knowledge.secrets.get(secret_index?)?),
            Handshake::TwitchChallenge => twitch::answer(request),
            Handshake::DiscordPing => discord::answer(request),
            Handshake::EventGridValidation => event_grid::answer(request),
            Handshake::SnsConfirmation => sns::answer(request),
            Handshake::MetaChallenge
            | Handshake::BraintreeChallenge
            | Handshake::DropboxChallenge
            | Handshake::CloudEventsOptions
            | Handshake::WoocommercePing
            | Handshake::AsanaSecret
            | Handshake::Head => None,
        }
    }
}

fn answered(answer: HandshakeAnswer) -> Verification {
    Verification::Handshake(answer)
}

fn refused(problem: impl Into<String>) -> Result<Verification, Rejection> {
    Err(Rejection::HandshakeRefused {
        problem: problem.into(),
    })
}

/// The echo of a challenge, as text that no browser takes for anything else.
fn echo(challenge: String) -> Result<Verification, Rejection> {
    if challenge.is_empty() || challenge.len() > HANDSHAKE_ECHO_BYTES_MAX {
        return refused(format!(
            "its challenge is empty or longer than {HANDSHAKE_ECHO_BYTES_MAX} bytes, which no sender's is"
        ));
    }
    Ok(answered(HandshakeAnswer::text(challenge)))
}

/// The body of a POST that is short enough to be a handshake, if it has this shape. A delivery is rarely read for
/// nothing, and never copied.
fn small_json<T: DeserializeOwned>(request: &Request<'_>) -> Option<T> {
    let may_be = request.method == "POST" && request.body.len() <= HANDSHAKE_BODY_BYTES_MAX;
    may_be
        .then(|| serde_json::from_slice(json_text(request.body)).ok())
        .flatten()
}

/// The value of a header, if it is text.
fn header_text<'a>(request: &Request<'a>, name: &str) -> Option<&'a str> {
    std::str::from_utf8(request.headers.get(name)?).ok()
}

#[cfg(test)]
mod tests;
