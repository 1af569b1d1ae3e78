//! The sender: signs deliveries as the provider does, and forges them for the plans that must be refused.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hapax_core::Secret;
use hapax_verify::catalogue::Provider;
use hapax_verify::sign::{self, ProviderSigner};
use hapax_verify::{Options, Request, Verifier};

use crate::event::{Delivery, EventProblem};

/// How much older than the tolerance a stale delivery is.
const STALE_SECONDS: i64 = 24 * 3_600;

/// Signs with one secret.
pub(crate) struct Sender {
    pub(crate) provider: &'static Provider,
    secret: Secret,
    signer: ProviderSigner,
    /// What senders that sign the URL sign.
    url: String,
}

/// What is wrong with a forged delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgery {
    Unsigned,
    Tampered,
    Stale,
}

/// A copy that is ready to go.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Sender {
    pub(crate) fn new(
        provider: &'static Provider,
        secret: Secret,
        url: String,
    ) -> Result<Self, hapax_verify::SetupError> {
        let signer = ProviderSigner::new(provider, secret.expose(), &Options::default())?;
        Ok(Self {
            provider,
            secret,
            signer,
            url,
        })
    }

    /// Whether deliveries of this provider say when they were signed.
    pub(crate) fn signs_the_time(&self) -> bool {
        self.provider.proof.tolerance_seconds().is_some()
    }

    /// A copy signed now, as a sender signs each of its attempts.
    pub(crate) fn sign(&self, delivery: &Delivery) -> Signed {
        self.sign_at(delivery, unix_seconds())
    }

    /// A copy that must be refused.
    pub(crate) fn forge(&self, delivery: &Delivery, forgery: Forgery) -> Signed {
        match forgery {
            Forgery::Unsigned => Signed {
                headers: delivery.headers.clone(),
                body: delivery.body.clone(),
            },
            Forgery::Tampered => {
                let mut signed = self.sign(delivery);
                signed.body = tampered(&signed.body);
                signed
            }
            Forgery::Stale => {
                let tolerance = self.provider.proof.tolerance_seconds();
                let tolerance = i64::from(tolerance.unwrap_or_default());
                self.sign_at(delivery, unix_seconds() - tolerance - STALE_SECONDS)
            }
        }
    }

    /// Reads a delivery as a receiver does, so that a test does not begin with events that nobody would take.
    pub(crate) fn check(&self, delivery: &Delivery) -> Result<(), EventProblem> {
        let provider = self.provider;
        let secrets = [self.secret.expose()];
        // A private key signs and does not verify: then there is nothing to check with.
        let Ok(verifier) = Verifier::new(&provider.recipe(), &secrets, &Options::default()) else {
            return Ok(());
        };
        let signed = self.sign(delivery);
        let request = Request::new(&signed.headers, &signed.body, unix_seconds()).url(&self.url);
        let verdict = verifier.verify(&request);
        verdict
            .map(|_| ())
            .map_err(|rejection| EventProblem::Refused(rejection.to_string()))
    }

    fn sign_at(&self, delivery: &Delivery, seconds: i64) -> Signed {
        let signed = self.signer.sign(sign::Delivery {
            id: delivery.id.clone(),
            timestamp: seconds,
            url: self.url.clone(),
            headers: delivery.headers.clone(),
            body: delivery.body.to_vec(),
            ..sign::Delivery::default()
        });
        Signed {
            headers: signed.headers,
            body: signed.body.into(),
        }
    }
}

/// The body with something more in it, and still JSON where it was.
fn tampered(body: &Bytes) -> Bytes {
    let text = String::from_utf8_lossy(body);
    match text.strip_prefix('{') {
        Some("}") => r#"{"tampered":true}"#.into(),
        Some(rest) => format!(r#"{{"tampered":true,{rest}"#).into(),
        None => format!("{text} ").into(),
    }
}

fn unix_seconds() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use hapax_verify::catalogue;
    use hapax_verify::sign::generate_secret;

    use super::*;
    use crate::event::Event;

    fn accepts(sender: &Sender, signed: &Signed) -> bool {
        let provider = sender.provider;
        let secrets = [sender.secret.expose()];
        let verifier = Verifier::new(&provider.recipe(), &secrets, &Options::default()).unwrap();
        let request = Request::new(&signed.headers, &signed.body, unix_seconds()).url(&sender.url);
        verifier.verify(&request).is_ok()
    }

    #[test]
    fn every_providers_sample_is_accepted_and_its_forgeries_are_not() {
        for provider in catalogue::all() {
            let secret = Secret::new(generate_secret(provider, &[7; 32]));
            let sender = Sender::new(provider, secret, "http://127.0.0.1/".to_owned()).unwrap();
            let delivery = Event::sample(provider).fresh(provider).unwrap();
            sender.check(&delivery).unwrap();
            assert!(accepts(&sender, &sender.sign(&delivery)), "{}", provider.name);
            for forgery in [Forgery::Unsigned, Forgery::Tampered, Forgery::Stale] {
                let skipped = forgery == Forgery::Stale && !sender.signs_the_time();
                let accepted = accepts(&sender, &sender.forge(&delivery, forgery));
                assert_eq!(accepted, skipped, "{} {forgery:?}", provider.name);
            }
        }
    }
}
