//! Handshakes that providers perform before they deliver events: one file each.
//!
//! A signed handshake is answered after it is verified. One that cannot be verified is answered only if the response is
//! a mere echo: nothing is stored and nothing is called.

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
use crate::options::Options;
use crate::rejection::Rejection;
use crate::request::{Request, json_text};
use crate::verification::{HandshakeAnswer, Verification};

/// A known handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// Slack's `url_verification`: signed; the response is the challenge.
    SlackChallenge,
    /// Zoom's `endpoint.url_validation`: signed; the response proves knowledge of the secret.
    ZoomValidation,
    /// Twitch's `webhook_callback_verification`: signed; the response is the challenge.
    TwitchChallenge,
    /// Discord's PING, for interactions and webhook events: signed.
    DiscordPing,
    /// Event Grid's subscription validation, by POST or OPTIONS: proven by the token.
    EventGridValidation,
    /// SNS asks to confirm a subscription by calling a URL: signed.
    SnsConfirmation,
    /// Meta's `hub.challenge`: proven by the option `verify_token`.
    MetaChallenge,
    /// Braintree's `bt_challenge`: not proven; the response proves knowledge of the private key.
    BraintreeChallenge,
    /// Dropbox's `challenge`: not proven, and merely echoed.
    DropboxChallenge,
    /// A CloudEvents provider asks whether it may deliver: decided by the option `allowed_origins`.
    CloudEventsOptions,
    /// WooCommerce's ping: not signed; it only expects status 200.
    WoocommercePing,
    /// Asana sends the secret that it will sign with.
    AsanaSecret,
    /// A HEAD request that checks whether the URL exists.
    Head,
}

/// The configuration from which a handshake is answered.
pub(crate) struct Knowledge<'a> {
    pub(crate) secrets: &'a [String],
    pub(crate) options: &'a Options,
}

/// The response to a handshake, or why it is refused; `None` if the request is not a handshake.
type Answered = Option<Result<Verification, Rejection>>;

impl Handshake {
    /// The response to a request that the proof cannot verify; `None` if it is not a handshake.
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

    /// Whether this handshake is recognised only by its body and comes without a proof.
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

    /// The response to a verified request; `None` if it is not a handshake.
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

/// Echoes a challenge as plain text that no browser interprets as anything else.
fn echo(challenge: String) -> Result<Verification, Rejection> {
    if challenge.is_empty() || challenge.len() > HANDSHAKE_ECHO_BYTES_MAX {
        return refused(format!(
            "its challenge is empty or longer than {HANDSHAKE_ECHO_BYTES_MAX} bytes, unlike any provider's"
        ));
    }
    Ok(answered(HandshakeAnswer::text(challenge)))
}

/// The body of a POST that is short enough to be a handshake, if it has this shape. Deliveries are rarely parsed for
/// nothing, and never copied.
fn small_json<T: DeserializeOwned>(request: &Request<'_>) -> Option<T> {
    let may_be = request.method == "POST" && request.body.len() <= HANDSHAKE_BODY_BYTES_MAX;
    may_be
        .then(|| serde_json::from_slice(json_text(request.body)).ok())
        .flatten()
}

/// The value of a header, if it is UTF-8.
fn header_text<'a>(request: &Request<'a>, name: &str) -> Option<&'a str> {
    std::str::from_utf8(request.headers.get(name)?).ok()
}

#[cfg(test)]
mod tests;
