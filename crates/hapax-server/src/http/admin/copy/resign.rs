//! The request of an event with a signature that is made now, and what Hapax will say to it.

use hapax_core::{StoredEvent, Timestamp};
use hapax_verify::sign::{Delivery, ProviderSigner};
use hapax_verify::{Request, Verdict, Verifier};

use super::super::fault::{Answer, Fault};
use super::super::state::SourceFacts;
use super::sent_headers;

/// A request that is ready to go.
pub(super) struct Resigned {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// What whoever sends it should know.
    pub(super) notes: Vec<String>,
}

/// Signs an event as its sender would, with the first secret of its source.
pub(super) fn request(event: &StoredEvent, facts: Option<&SourceFacts>, now: Timestamp) -> Answer<Resigned> {
    let facts = facts.ok_or_else(|| {
        Fault::invalid_parameter(format!(
            "`{}` is no source of the configuration, so nothing can sign for it; copy it as a test instead",
            event.source
        ))
    })?;
    let secret = facts.secret.as_ref().map_or("", |secret| secret.expose());
    let proof = ProviderSigner::of_proof(&facts.recipe.proof, secret, &facts.options).map_err(|_| {
        Fault::invalid_parameter(format!(
            "what `{}` has in `secrets` verifies and cannot sign; copy it as a test instead",
            event.source
        ))
    })?;
    let signed = proof.sign(Delivery {
        id: event.identity.event_id.clone(),
        timestamp: now.as_seconds(),
        url: facts.url.clone(),
        headers: sent_headers(event),
        body: event.body.to_vec(),
        ..Delivery::default()
    });
    let notes = notes(event, facts, secret, &signed, now);
    Ok(Resigned {
        url: signed.url,
        headers: signed.headers,
        body: signed.body,
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
        Ok(id) if id == event.identity.event_id && signed.body == event.body => {
            "Hapax answers that it is a duplicate: nothing takes effect again.".to_owned()
        }
        Ok(id) if id == event.identity.event_id => {
            "The time stands in the body, so the body differs: Hapax keeps it aside as a conflict.".to_owned()
        }
        Ok(_) => "Hapax takes it for another event: the id is not where it was.".to_owned(),
        Err(why) => format!("Hapax will refuse it: {}", super::literal::in_comment(&why)),
    }];
    if event.batch.is_some() {
        notes.push("It came in a request with others; this is the item alone.".to_owned());
    }
    if let Some(seconds) = facts.recipe.proof.tolerance_seconds() {
        notes.push(format!("The signature is good for {seconds} s."));
    }
    notes
}

fn read_back(facts: &SourceFacts, secret: &str, signed: &Delivery, now: Timestamp) -> Result<String, String> {
    let verifier =
        Verifier::new(&facts.recipe, &[secret], &facts.options).map_err(|error| error.to_string())?;
    let request = Request::new(&signed.headers, &signed.body, now.as_seconds()).url(&signed.url);
    match verifier.verify(&request) {
        Ok(Verdict::Events(events)) => {
            let first = events.into_iter().next();
            first
                .map(|event| event.event_id)
                .ok_or_else(|| "it carries no event".to_owned())
        }
        Ok(
            Verdict::Handshake(_)
            | Verdict::Registration(_)
            | Verdict::Confirmation(_)
            | Verdict::NeedsKey(_),
        ) => Err("it is no delivery".to_owned()),
        Err(rejection) => Err(rejection.to_string()),
    }
}
