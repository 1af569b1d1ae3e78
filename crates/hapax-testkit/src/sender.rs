//! A provider that signs and sends: the same scheme as the verifier, with a secret from the configuration.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sample;
use hapax_verify::sign::{Signer, generate_secret};
use serde_json::{Value, json};

use super::Delivery;

/// The signing secret that every test uses for a provider.
pub fn secret_of(provider: &str) -> String {
    generate_secret(get(provider), &[0x5a; 32]).signing
}

/// Signs deliveries to one source.
pub struct Sender {
    provider: &'static Provider,
    signer: Signer,
    path: String,
}

impl Sender {
    /// For the source with its provider's name.
    pub fn of(provider: &str) -> Self {
        Self::to_source(provider, provider)
    }

    pub fn to_source(provider: &str, source: &str) -> Self {
        Self::with_secret(provider, source, &secret_of(provider))
    }

    pub fn with_secret(provider: &str, source: &str, secret: &str) -> Self {
        let provider = get(provider);
        let signer = Signer::new(provider.proof.scheme().unwrap(), secret).unwrap();
        Self {
            provider,
            signer,
            path: format!("/in/{source}"),
        }
    }

    /// The provider's sample with this id.
    pub fn event(&self, id: &str) -> Delivery {
        let sample = sample::of_provider(self.provider, id);
        self.sign(id, now(), sample.headers, sample.body)
    }

    /// A Stripe event with any type and object.
    pub fn stripe_event(&self, id: &str, kind: &str, object: &Value) -> Delivery {
        let body = json!({"id": id, "object": "event", "type": kind, "data": {"object": object}});
        self.with_body(id, body.to_string())
    }

    /// The provider's headers over any body.
    pub fn with_body(&self, id: &str, body: impl Into<Vec<u8>>) -> Delivery {
        self.sign(
            id,
            now(),
            sample::of_provider(self.provider, id).headers,
            body.into(),
        )
    }

    /// The sample, signed at another time.
    pub fn signed_at(&self, id: &str, timestamp: i64) -> Delivery {
        let sample = sample::of_provider(self.provider, id);
        self.sign(id, timestamp, sample.headers, sample.body)
    }

    fn sign(&self, id: &str, timestamp: i64, mut headers: Vec<(String, String)>, body: Vec<u8>) -> Delivery {
        headers.extend(self.signer.sign(id, timestamp, "POST", "", &body));
        Delivery {
            event_id: id.to_owned(),
            path: self.path.clone(),
            headers: headers
                .into_iter()
                .map(|(name, value)| (name, value.into_bytes()))
                .collect(),
            body: Bytes::from(body),
        }
    }
}

/// The current time in Unix seconds.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn get(provider: &str) -> &'static Provider {
    catalogue::get(provider).unwrap_or_else(|| panic!("no provider `{provider}`"))
}
