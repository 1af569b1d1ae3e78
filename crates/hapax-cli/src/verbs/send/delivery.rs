//! The delivery itself: a body, an id, and a fresh signature for every request.

use bytes::Bytes;
use hapax_core::{Clock as _, SystemClock};
use hapax_verify::sign::{self, ProviderSigner};
use hapax_verify::{Request, Verification, Verifier};

use super::Sender;
use crate::exit::CliError;
use hapax_terminal::output;

/// The delivery that is sent repeatedly.
pub(super) struct Delivery {
    signer: ProviderSigner,
    id: String,
    signed_url: String,
    headers: Vec<(String, String)>,
    body: Bytes,
    event_id: Option<String>,
    /// The first request, if the signature is in the body: another signature would change the body.
    first: Option<Signed>,
}

/// A request that is ready to send.
#[derive(Clone)]
pub(super) struct Signed {
    /// The part of the query that the signer added, with its `?` or `&`.
    pub(super) query: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

impl Delivery {
    /// Builds the delivery, and reads it as the receiver will.
    pub(super) fn new(sender: &Sender, body: Option<&Bytes>, id: Option<&str>) -> Result<Self, CliError> {
        let signer = ProviderSigner::of_proof(&sender.recipe.proof, sender.secret.expose(), &sender.options)
            .map_err(|error| {
                CliError::usage(format!(
                    "the secret cannot sign: {error}; use another one with --secret, such as --secret file:private.pem"
                ))
            })?;
        // In a sample, the id is already in place; in the user's own body, the body decides.
        let contradicts = |event_id: &str, id: &str| body.is_some() && !event_id.contains(id);
        let (generated, shape) = (id.is_none(), sender.id_shape());
        let id = id.map_or_else(|| shape.fresh(fastrand::u128(..)), str::to_owned);
        if body.is_none() && !shape.fits(&id) {
            return Err(CliError::usage(format!(
                "`{id}` is not an id that this provider would send: its ids are whole numbers, such as --id 42"
            )));
        }
        let sample = sender.sample(&id).delivery(unix_seconds());
        let request = body.map(|body| sender.request_of(&sample.headers, body));
        let mut delivery = Self {
            signer,
            id,
            signed_url: sender.signed_url.clone(),
            headers: sample.headers,
            body: request.unwrap_or_else(|| sample.body.into()),
            event_id: None,
            first: None,
        };
        delivery.keep_first();
        match delivery.read_back(sender) {
            Ok(event_id) if !generated && contradicts(&event_id, &delivery.id) => {
                return Err(CliError::usage(format!(
                    "the id is in the body and is `{event_id}` there; change the body, or omit --id"
                )));
            }
            Ok(event_id) => delivery.event_id = Some(event_id),
            // Send it anyway: the service's answer may be what the user wants to see.
            Err(reason) => output::warning(format_args!("the service will refuse this: {reason}")),
        }
        Ok(delivery)
    }

    /// The id under which the receiver will know the event.
    pub(super) fn event_id(&self) -> Option<&str> {
        self.event_id.as_deref()
    }

    /// A request signed now, as a provider signs each of its attempts.
    pub(super) fn sign(&self) -> Signed {
        if let Some(first) = &self.first {
            return first.clone();
        }
        let signed = self.signer.sign(sign::Delivery {
            id: self.id.clone(),
            timestamp: unix_seconds(),
            url: self.signed_url.clone(),
            headers: self.headers.clone(),
            body: self.body.to_vec(),
            ..sign::Delivery::default()
        });
        let added = signed.url.strip_prefix(&self.signed_url).unwrap_or_default();
        Signed {
            query: added.to_owned(),
            headers: signed.headers,
            body: signed.body.into(),
        }
    }

    fn keep_first(&mut self) {
        let signed = self.sign();
        if signed.body != self.body {
            self.first = Some(signed);
        }
    }

    fn read_back(&self, sender: &Sender) -> Result<String, String> {
        if sender.has_key_pair() {
            return Ok(self.id.clone());
        }
        let Ok(verifier) = Verifier::new(&sender.recipe, &[sender.secret.expose()], &sender.options) else {
            // A private key signs and does not verify, so nothing can be read back.
            return Ok(self.id.clone());
        };
        let signed = self.sign();
        let url = format!("{}{}", self.signed_url, signed.query);
        let request = Request::new(&signed.headers, &signed.body, unix_seconds()).url(&url);
        match verifier.verify(&request) {
            Ok(Verification::Events(events)) => events
                .into_iter()
                .next()
                .map(|event| event.event_id)
                .ok_or_else(|| "it has no events".to_owned()),
            Ok(
                Verification::Handshake(_)
                | Verification::Registration(_)
                | Verification::Confirmation(_)
                | Verification::NeedsKey(_),
            ) => Ok(self.id.clone()),
            Err(rejection) => Err(rejection.to_string()),
        }
    }
}

fn unix_seconds() -> i64 {
    SystemClock::default().now().as_seconds()
}
