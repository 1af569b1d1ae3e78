//! The request of an event, alone and signed now, and how Hapax will respond to it.

use std::borrow::Cow;

use hapax_core::{BodyHash, StoredEvent, Timestamp};
use hapax_verify::identity::ValuePath;
use hapax_verify::sign::{Delivery, ProviderSigner};
use hapax_verify::{Request, Verification, Verifier, sample};

use super::super::api_error::{ApiError, ApiResult};
use super::super::state::SourceFacts;
use super::sent_headers;
use hapax_delivery::destination::BatchHeaders;

/// Placeholder for a secret. Basic authentication requires a colon in it.
pub(super) const PLACEHOLDER: &str = "TOKEN:TOKEN";

/// A signed request.
pub(super) struct Resigned {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Whether the credential is the secret itself: [`PLACEHOLDER`] replaces it.
    pub(super) sends_secret: bool,
    /// Notes for the user who sends it.
    pub(super) notes: Vec<String>,
}

/// Signs an event as its provider would, with the first secret of its source.
pub(super) fn request(
    event: &StoredEvent,
    facts: Option<&SourceFacts>,
    now: Timestamp,
) -> ApiResult<Resigned> {
    let facts = facts.ok_or_else(|| {
        ApiError::invalid_parameter(format!(
            "`{}` is not a configured source, so there is no secret to sign with; export it as a test instead",
            event.source
        ))
    })?;
    let mut secret = facts.secret.as_ref().map_or("", |secret| secret.expose());
    let signer = |secret: &str| {
        ProviderSigner::of_proof(&facts.recipe.proof, secret, &facts.options).map_err(|_| {
            ApiError::invalid_parameter(format!(
                "the `secrets` of `{}` can verify but not sign; export it as a test instead",
                event.source
            ))
        })
    };
    let mut proof = signer(secret)?;
    let sends_secret = proof.sends_secret();
    if sends_secret {
        secret = PLACEHOLDER;
        proof = signer(secret)?;
    }
    let mut headers = sent_headers(event);
    // The original signature does not cover the request that is sent now.
    let old = BatchHeaders::of(&facts.recipe);
    headers.retain(|(name, _)| !old.proves_whole(name));
    let body = match facts.provider.filter(|_| event.batch.is_some()) {
        Some(provider) => sample::alone(provider, &headers, &event.body),
        None => Cow::Borrowed(&event.body[..]),
    };
    let surroundings = match (event.batch, &body) {
        (None, _) => None,
        (Some(_), Cow::Borrowed(_)) => {
            Some("It arrived in a request with other events; this request contains only this one.")
        }
        (Some(_), Cow::Owned(_)) => Some(
            "It arrived in a batch; here it is the only one, and the fields around it are those of the provider's \
             sample.",
        ),
    };
    let delivery = proof.sign(Delivery {
        id: event.identity.event_id.clone(),
        timestamp: now.as_seconds(),
        url: facts.url.clone(),
        headers,
        body: body.into_owned(),
        ..Delivery::default()
    });
    let mut notes = notes(event, facts, secret, &delivery, now);
    notes.extend(surroundings.map(str::to_owned));
    if sends_secret {
        notes.push(
            "Set TOKEN to the secret of the source: it is sent unchanged, and Hapax does not print it."
                .to_owned(),
        );
    }
    Ok(Resigned {
        url: delivery.url,
        headers: delivery.headers,
        body: delivery.body,
        sends_secret,
        notes,
    })
}

fn notes(
    event: &StoredEvent,
    facts: &SourceFacts,
    secret: &str,
    signed: &Delivery,
    now: Timestamp,
) -> Vec<String> {
    let mut notes = vec![match read_back(facts, secret, signed, now) {
        _ if BodyHash::of(&event.body) != event.raw_hash => {
            "Fields that the source redacts are missing, so the body differs: Hapax stores it as a conflict."
                .to_owned()
        }
        Ok((id, body)) if id == event.identity.event_id && *body == event.body[..] => {
            "Hapax answers that it is a duplicate: nothing takes effect again.".to_owned()
        }
        Ok((id, _)) if id == event.identity.event_id => {
            "The body contains the time, so it differs: Hapax stores it as a conflict.".to_owned()
        }
        Ok(_) if !is_in_event(facts) => {
            "Hapax treats it as a different event: its id was derived from the whole original request."
                .to_owned()
        }
        Ok(_) => "Hapax treats it as a different event: the id is not at its original location.".to_owned(),
        Err(why) => format!("Hapax will refuse it: {}", super::literal::in_comment(&why)),
    }];
    if let Some(seconds) = facts.recipe.proof.tolerance_seconds() {
        notes.push(format!("The signature is valid for {seconds} s."));
    }
    notes
}

/// Whether the event itself contains its id.
fn is_in_event(facts: &SourceFacts) -> bool {
    let mut fields = facts.recipe.identity.event_id.fields();
    fields.all(|field| field.paths().iter().all(ValuePath::is_in_event))
}

/// The event's id and body, as Hapax will read them.
fn read_back<'a>(
    facts: &SourceFacts,
    secret: &str,
    signed: &'a Delivery,
    now: Timestamp,
) -> Result<(String, Cow<'a, [u8]>), String> {
    let verifier =
        Verifier::new(&facts.recipe, &[secret], &facts.options).map_err(|error| error.to_string())?;
    let request = Request::new(&signed.headers, &signed.body, now.as_seconds()).url(&signed.url);
    match verifier.verify(&request) {
        Ok(Verification::Events(events)) => {
            let first = events.into_iter().next();
            first
                .map(|event| (event.event_id, event.body.of(&signed.body)))
                .ok_or_else(|| "it contains no event".to_owned())
        }
        Ok(
            Verification::Handshake(_)
            | Verification::Registration(_)
            | Verification::Confirmation(_)
            | Verification::NeedsKey(_),
        ) => Err("it is not a delivery".to_owned()),
        Err(rejection) => Err(rejection.to_string()),
    }
}
