//! The sender: signs deliveries as the provider does, and forges them for the plans that must be refused.

use bytes::Bytes;
use hapax_core::Secret;
use hapax_verify::catalogue::Provider;
use hapax_verify::sign::{self, ProviderSigner, generate_secret};
use hapax_verify::{Request, Verifier};

use crate::clock::unix_seconds;
use crate::event::{Delivery, EventProblem};

/// How much older than the tolerance a stale delivery is.
const STALE_SECONDS: i64 = 24 * 3_600;

/// Signs with one secret.
pub(crate) struct Sender {
    pub(crate) provider: &'static Provider,
    signer: ProviderSigner,
    /// `None` if the secret is the private half of a key pair, which verifies nothing.
    verifier: Option<Verifier>,
    /// The URL, for providers that sign it.
    url: String,
}

/// What is wrong with a forged delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgery {
    Unsigned,
    Tampered,
    Stale,
}

/// A signed delivery, ready to send.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    /// The part that the signer added to the URL, with its `?` or `&`.
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Sender {
    pub(crate) fn new(
        provider: &'static Provider,
        secret: &Secret,
        url: String,
    ) -> Result<Self, hapax_verify::SetupError> {
        let options = provider.sample_options();
        let signer = ProviderSigner::new(provider, secret.expose(), &options)?;
        let verifier = Verifier::new(&provider.recipe(), &[secret.expose()], &options).ok();
        Ok(Self {
            provider,
            signer,
            verifier: verifier.filter(|_| !has_key_pair(provider)),
            url,
        })
    }

    /// Whether this provider signs the time of its deliveries.
    pub(crate) fn signs_the_time(&self) -> bool {
        self.provider.proof.tolerance_seconds().is_some()
    }

    /// Signs a delivery with the current time, as a provider does for each attempt.
    pub(crate) fn sign(&self, delivery: &Delivery) -> Signed {
        self.sign_at(delivery, unix_seconds())
    }

    /// A delivery that must be refused.
    pub(crate) fn forge(&self, delivery: &Delivery, forgery: Forgery) -> Signed {
        match forgery {
            Forgery::Unsigned => Signed {
                query: String::new(),
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

    /// Reads a delivery as a receiver does, so that a test does not start with events that any receiver would refuse.
    pub(crate) fn check(&self, delivery: &Delivery) -> Result<(), EventProblem> {
        let rejection = self.rejection(&self.sign(delivery));
        rejection.map_or(Ok(()), |reason| Err(EventProblem::Refused(reason)))
    }

    /// Whether no receiver could refuse a forged delivery, because the forged part is not signed.
    pub(crate) fn passes(&self, delivery: &Delivery, forgery: Forgery) -> bool {
        self.verifier.is_some() && self.rejection(&self.forge(delivery, forgery)).is_none()
    }

    /// Why a receiver would refuse it; `None` if there is no verifier.
    fn rejection(&self, signed: &Signed) -> Option<String> {
        let url = format!("{}{}", self.url, signed.query);
        let request = Request::new(&signed.headers, &signed.body, unix_seconds()).url(&url);
        let verdict = self.verifier.as_ref()?.verify(&request);
        verdict.err().map(|rejection| rejection.to_string())
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
        let added = signed.url.strip_prefix(&self.url).unwrap_or_default();
        Signed {
            query: added.to_owned(),
            headers: signed.headers,
            body: signed.body.into(),
        }
    }
}

fn has_key_pair(provider: &Provider) -> bool {
    let pair = generate_secret(provider, &[7; 32]);
    pair.signing != pair.verifying
}

/// The body with additional content, still JSON if it was.
fn tampered(body: &Bytes) -> Bytes {
    let text = String::from_utf8_lossy(body);
    match text.strip_prefix('{') {
        Some("}") => r#"{"tampered":true}"#.into(),
        Some(rest) => format!(r#"{{"tampered":true,{rest}"#).into(),
        None => format!("{text} ").into(),
    }
}

#[cfg(test)]
mod tests {
    use hapax_verify::catalogue;

    use super::*;
    use crate::event::Event;

    fn sender(provider: &'static Provider) -> Sender {
        let pair = generate_secret(provider, &[7; 32]);
        let mut sender = Sender::new(
            provider,
            &Secret::new(pair.signing),
            "http://127.0.0.1/".to_owned(),
        )
        .unwrap();
        // A test has both halves of a key pair, so that everything is checked.
        let options = provider.sample_options();
        sender.verifier = Some(Verifier::new(&provider.recipe(), &[pair.verifying], &options).unwrap());
        sender
    }

    #[test]
    fn every_providers_sample_is_accepted() {
        for provider in catalogue::all() {
            let delivery = Event::sample().fresh(provider).unwrap();
            if let Err(problem) = sender(provider).check(&delivery) {
                panic!("{}: {problem}", provider.name);
            }
        }
    }

    #[test]
    fn a_forgery_is_refused_wherever_what_is_forged_is_signed() {
        for provider in catalogue::all() {
            let sender = sender(provider);
            let delivery = Event::sample().fresh(provider).unwrap();
            assert!(!sender.passes(&delivery, Forgery::Unsigned), "{}", provider.name);
            let scheme = provider.proof.scheme();
            if scheme.is_some_and(|scheme| scheme.signed.covers_body()) {
                assert!(!sender.passes(&delivery, Forgery::Tampered), "{}", provider.name);
                let timed = sender.signs_the_time();
                let passes = sender.passes(&delivery, Forgery::Stale);
                assert!(!(timed && passes), "{}", provider.name);
            }
        }
    }
}
