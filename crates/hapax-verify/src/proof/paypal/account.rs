//! PayPal's own verification, for sources that ask PayPal about each transmission.
//!
//! It is asked only after a transmission has passed every local check, so that nobody else can trigger the call.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ALGORITHM_NAME, CERTIFICATE_URL, Claims, SIGNATURE};
use crate::keys::{KeyKind, KeyRequest, Question};
use crate::options::Options;
use crate::proof::{Stop, invalid, required_header};
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::setup::SetupError;

const CLIENT_ID: &str = "client_id";
const CLIENT_SECRET: &str = "client_secret";
const ENVIRONMENT: &str = "environment";

/// The account, and the host to ask.
pub(super) struct Account {
    client_id: String,
    client_secret: String,
    host: &'static str,
}

/// The question to PayPal about a transmission.
#[derive(Serialize)]
struct SignatureQuestion<'a> {
    auth_algo: &'a str,
    cert_url: &'a str,
    transmission_id: &'a str,
    transmission_sig: &'a str,
    transmission_time: &'a str,
    webhook_id: &'a str,
    webhook_event: &'a RawValue,
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
}

#[derive(Deserialize)]
struct SignatureReply {
    verification_status: String,
}

impl Account {
    /// The account, if one is configured.
    pub(super) fn from_options(options: &Options) -> Result<Option<Self>, SetupError> {
        let host = match options.text(ENVIRONMENT).unwrap_or("live") {
            "live" => "api-m.paypal.com",
            "sandbox" => "api-m.sandbox.paypal.com",
            _ => {
                return Err(SetupError::OptionInvalid {
                    name: ENVIRONMENT,
                    expected: "`live` or `sandbox`",
                });
            }
        };
        match (options.text(CLIENT_ID), options.text(CLIENT_SECRET)) {
            (None, None) => Ok(None),
            (Some(client_id), Some(client_secret)) => Ok(Some(Account {
                client_id: client_id.to_owned(),
                client_secret: client_secret.to_owned(),
                host,
            })),
            (Some(_), None) => Err(SetupError::OptionMissing { name: CLIENT_SECRET }),
            (None, Some(_)) => Err(SetupError::OptionMissing { name: CLIENT_ID }),
        }
    }

    /// Asks PayPal whether it sent this body with this transmission.
    pub(super) fn ask(
        &self,
        request: &Request<'_>,
        claims: &Claims<'_>,
        webhook_id: &str,
    ) -> Result<(), Stop> {
        let token_id = format!("access token of {}", self.client_id);
        let Some(token) = request.keys.get(&token_id) else {
            return Err(Stop::NeedsKey(self.token_request(token_id)));
        };
        let question = question(request, claims, webhook_id)?;
        // A different body or signature under the same id is a different question.
        let key_id = format!("verification {}", hex::encode(digest(&SHA256, &question)));
        let Some(answer) = request.keys.get(&key_id) else {
            return Err(Stop::NeedsKey(
                self.verification_request(key_id, question, &token)?,
            ));
        };
        let answer: Option<SignatureReply> = serde_json::from_slice(&answer).ok();
        if answer.is_some_and(|answer| answer.verification_status == "SUCCESS") {
            Ok(())
        } else {
            Err(invalid(SIGNATURE, SignatureProblem::Disowned).into())
        }
    }

    fn token_request(&self, key_id: String) -> KeyRequest {
        let credentials = STANDARD.encode(format!("{}:{}", self.client_id, self.client_secret));
        KeyRequest {
            url: format!("https://{}/v1/oauth2/token", self.host),
            key_id,
            kind: KeyKind::Token,
            question: Some(Box::new(Question {
                body: b"grant_type=client_credentials".to_vec(),
                content_type: "application/x-www-form-urlencoded",
                authorization: Some(format!("Basic {credentials}")),
            })),
            expects: "\"access_token\"",
        }
    }

    fn verification_request(
        &self,
        key_id: String,
        question: Vec<u8>,
        token: &[u8],
    ) -> Result<KeyRequest, Rejection> {
        let unusable = |_| Rejection::KeyRefused {
            problem: "PayPal's response is not an access token".to_owned(),
        };
        let token: Token = serde_json::from_slice(token).map_err(unusable)?;
        Ok(KeyRequest {
            url: format!("https://{}/v1/notifications/verify-webhook-signature", self.host),
            key_id,
            kind: KeyKind::Answer,
            question: Some(Box::new(Question {
                authorization: Some(format!("Bearer {}", token.access_token)),
                ..Question::json(question)
            })),
            expects: "\"verification_status\"",
        })
    }
}

/// The event is included byte for byte: after parsing and serialising it again, it would have another checksum.
fn question(request: &Request<'_>, claims: &Claims<'_>, webhook_id: &str) -> Result<Vec<u8>, Rejection> {
    let unreadable = |_| invalid(SIGNATURE, SignatureProblem::Unreadable);
    let asked = SignatureQuestion {
        auth_algo: ALGORITHM_NAME,
        cert_url: required_header(request, CERTIFICATE_URL)?,
        transmission_id: claims.id,
        transmission_sig: claims.signature,
        transmission_time: claims.time,
        webhook_id,
        webhook_event: serde_json::from_slice(request.body).map_err(unreadable)?,
    };
    serde_json::to_vec(&asked).map_err(unreadable)
}
