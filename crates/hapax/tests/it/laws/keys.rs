//! The bytes of keys and hashes.

use hapax_core::{BodyHash, Generation, Identity};
use serde::Deserialize;

use super::written;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Laws {
    idempotency_keys: Vec<IdempotencyKey>,
    call_keys: Vec<CallKey>,
    body_hashes: Vec<Hash>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdempotencyKey {
    scope: String,
    event_id: String,
    generation: u32,
    destination: String,
    key: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallKey {
    scope: String,
    event_id: String,
    generation: u32,
    consumer: String,
    number: u32,
    key: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hash {
    body_hex: String,
    hash: String,
}

#[test]
fn keys_and_hashes_have_the_written_bytes() {
    let laws: Laws = written!("keys.json");
    for law in laws.idempotency_keys {
        let key = Identity::new(law.scope.as_str(), law.event_id.as_str())
            .idempotency_key(Generation(law.generation), &law.destination.as_str().into());
        assert_eq!(key.to_string(), law.key, "{law:?}");
    }
    for law in laws.call_keys {
        let destination = format!("outbox:{}:{}", law.consumer, law.number);
        let key = Identity::new(law.scope.as_str(), law.event_id.as_str())
            .idempotency_key(Generation(law.generation), &destination.into());
        assert_eq!(key.to_string(), law.key, "{law:?}");
    }
    for law in laws.body_hashes {
        let body = hex(&law.body_hex);
        assert_eq!(BodyHash::of(&body).to_string(), law.hash, "{law:?}");
    }
}

fn hex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}
