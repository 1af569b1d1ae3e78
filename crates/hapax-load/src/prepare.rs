//! Signed deliveries, made before anything is measured.
//!
//! All deliveries of a run share one request of 1 KiB; only the event id, a number in the body and the signature
//! differ. So a delivery is stored as those three (48 bytes), and a connection writes them into its own copy of the
//! request just before it sends: millions of genuine signatures fit in memory, and none is computed during the
//! measurement.

use std::net::SocketAddr;

use anyhow::Context as _;
use hapax_core::{Clock as _, SystemClock};
use hapax_verify::sign::Signer;

pub(crate) const BODY_BYTES: usize = 1024;
/// At 48 bytes each, these take 960 MB.
pub(crate) const DELIVERIES_MAX: usize = 20_000_000;

pub(crate) const ID_BYTES: usize = 12;
/// Distinguishes bodies under one id; all zeros in the first.
const VARIANT_BYTES: usize = 4;
const VARIANT_LABEL: &str = r#""description":""#;
const SIGNATURE_BYTES: usize = 32;
const ID_PREFIX: &str = "evt_";
const PROVIDER: &str = "stripe";

/// The random part of an event id.
pub(crate) type IdBytes = [u8; ID_BYTES];

pub struct Recipe<'a> {
    pub address: SocketAddr,
    /// The path, such as `/in/bench`.
    pub path: &'a str,
    /// The Stripe signing secret.
    pub secret: &'a str,
    /// Number of different events.
    pub count: usize,
    /// The same seed makes the same events, so that a later run can repeat them.
    pub seed: u64,
    /// Send only this many ids repeatedly, each time with a body that was never sent before.
    pub conflicting_ids: Option<usize>,
}

impl Recipe<'_> {
    fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            (1..=DELIVERIES_MAX).contains(&self.count),
            "{} deliveries: a run has between 1 and {DELIVERIES_MAX}",
            self.count
        );
        Ok(())
    }
}

/// Deliveries ready to be sent.
pub struct Prepared {
    template: Vec<u8>,
    id_at: usize,
    variant_at: usize,
    signature_at: usize,
    deliveries: Vec<Delivery>,
}

struct Delivery {
    id: IdBytes,
    variant: [u8; VARIANT_BYTES],
    signature: [u8; SIGNATURE_BYTES],
}

impl Prepared {
    /// Random events, signed on all cores.
    pub fn new(recipe: &Recipe<'_>) -> anyhow::Result<Self> {
        recipe.check()?;
        Self::signed(recipe, random_deliveries(recipe))
    }

    /// The first deliveries of known events, from their ids one after the other: at most as many as the recipe has.
    pub fn known(recipe: &Recipe<'_>, ids: &[u8]) -> anyhow::Result<Self> {
        recipe.check()?;
        let (ids, rest) = ids.as_chunks::<ID_BYTES>();
        anyhow::ensure!(
            !ids.is_empty() && rest.is_empty(),
            "the ids are not a list of {ID_BYTES} bytes each"
        );
        let deliveries = ids.iter().take(recipe.count).map(|id| Delivery {
            id: *id,
            variant: [0; VARIANT_BYTES],
            signature: [0; SIGNATURE_BYTES],
        });
        Self::signed(recipe, deliveries.collect())
    }

    fn signed(recipe: &Recipe<'_>, mut deliveries: Vec<Delivery>) -> anyhow::Result<Self> {
        let provider = hapax_verify::catalogue::get(PROVIDER);
        let scheme = provider.and_then(|provider| provider.proof.scheme());
        let signer = Signer::new(scheme.context("the catalogue has no `stripe`")?, recipe.secret)?;
        let timestamp = unix_seconds();
        let body = body_template();
        let body_id_at = find(&body, ID_PREFIX).context("the body has no id")? + ID_PREFIX.len();
        let body_variant_at =
            find(&body, VARIANT_LABEL).context("the body has no description")? + VARIANT_LABEL.len();
        sign_all(&mut deliveries, &|delivery| {
            let mut content = body.clone();
            write_hex(&delivery.id, &mut content[body_id_at..]);
            write_hex(&delivery.variant, &mut content[body_variant_at..]);
            sign(&signer, timestamp, &content)
        })?;
        let head = head(recipe, timestamp, body.len());
        let signature_at =
            find(&head, SIGNATURE_LABEL).context("the head has no signature")? + SIGNATURE_LABEL.len();
        let id_at = head.len() + body_id_at;
        let variant_at = head.len() + body_variant_at;
        let template = [head, body].concat();
        Ok(Self {
            template,
            id_at,
            variant_at,
            signature_at,
            deliveries,
        })
    }

    pub fn count(&self) -> usize {
        self.deliveries.len()
    }

    /// A request for a connection to keep and refill.
    pub fn blank(&self) -> Vec<u8> {
        self.template.clone()
    }

    /// Turns `request` into the delivery with this number.
    pub fn fill(&self, number: usize, request: &mut [u8]) {
        if let Some(delivery) = self.deliveries.get(number) {
            write_hex(&delivery.id, &mut request[self.id_at..]);
            write_hex(&delivery.variant, &mut request[self.variant_at..]);
            write_hex(&delivery.signature, &mut request[self.signature_at..]);
        }
    }

    /// The event id of the delivery with this number.
    pub fn event_id(&self, number: usize) -> Option<String> {
        self.deliveries.get(number).map(|delivery| event_id(&delivery.id))
    }
}

/// The event id with this random part.
pub(crate) fn event_id(id: &IdBytes) -> String {
    format!("{ID_PREFIX}{}", hex::encode(id))
}

/// Makes the body that an event's first delivery has, for a store that is filled without sending.
pub(crate) struct Bodies {
    template: Vec<u8>,
    id_at: usize,
}

impl Bodies {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let template = body_template();
        let id_at = find(&template, ID_PREFIX).context("the body has no id")? + ID_PREFIX.len();
        Ok(Self { template, id_at })
    }

    pub(crate) fn of(&self, id: &IdBytes) -> Vec<u8> {
        let mut body = self.template.clone();
        write_hex(id, &mut body[self.id_at..]);
        body
    }
}

const SIGNATURE_LABEL: &str = ",v1=";

/// Deliveries with random ids, not signed yet.
fn random_deliveries(recipe: &Recipe<'_>) -> Vec<Delivery> {
    let mut random = fastrand::Rng::with_seed(recipe.seed);
    let distinct = recipe
        .conflicting_ids
        .unwrap_or(recipe.count)
        .clamp(1, recipe.count);
    let ids: Vec<IdBytes> = (0..distinct)
        .map(|_| {
            let mut id = [0; ID_BYTES];
            random.fill(&mut id);
            id
        })
        .collect();
    let variant = || match recipe.conflicting_ids {
        Some(_) => fastrand::u32(1..).to_be_bytes(),
        None => [0; VARIANT_BYTES],
    };
    (0..recipe.count)
        .map(|number| Delivery {
            id: ids[number % distinct],
            variant: variant(),
            signature: [0; SIGNATURE_BYTES],
        })
        .collect()
}

fn sign_all(
    deliveries: &mut [Delivery],
    sign: &(dyn Fn(&Delivery) -> anyhow::Result<[u8; SIGNATURE_BYTES]> + Sync),
) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = deliveries.len().div_ceil(cores);
    std::thread::scope(|scope| {
        let threads: Vec<_> = deliveries
            .chunks_mut(share)
            .map(|chunk| {
                scope.spawn(move || {
                    chunk.iter_mut().try_for_each(|delivery| {
                        delivery.signature = sign(delivery)?;
                        anyhow::Ok(())
                    })
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a signing thread panicked"))?
        })
    })
}

fn sign(signer: &Signer, timestamp: i64, body: &[u8]) -> anyhow::Result<[u8; SIGNATURE_BYTES]> {
    let headers = signer.sign("", timestamp, "POST", "", body);
    let value = headers
        .first()
        .map(|(_, value)| value.as_str())
        .unwrap_or_default();
    let (_, digits) = value
        .split_once(SIGNATURE_LABEL)
        .context("the signer returned no v1 signature")?;
    let mut signature = [0; SIGNATURE_BYTES];
    hex::decode_to_slice(digits, &mut signature).context("the signature is not 32 bytes of hex")?;
    Ok(signature)
}

fn head(recipe: &Recipe<'_>, timestamp: i64, body_bytes: usize) -> Vec<u8> {
    let blank = "0".repeat(SIGNATURE_BYTES * 2);
    format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\nuser-agent: hapax-load\r\ncontent-type: application/json; charset=utf-8\r\n\
         stripe-signature: t={timestamp}{SIGNATURE_LABEL}{blank}\r\ncontent-length: {body_bytes}\r\n\r\n",
        recipe.path, recipe.address
    )
    .into_bytes()
}

/// An event in Stripe's format, padded to its size in a field that nothing reads.
fn body_template() -> Vec<u8> {
    let blank = "0".repeat(ID_BYTES * 2);
    let before = format!(
        r#"{{"id":"{ID_PREFIX}{blank}","object":"event","api_version":"2025-09-30.clover","created":1767225598,"data":{{"object":{{"id":"pi_3PqRsT2eZvKYlo2C","object":"payment_intent","amount":2000,"currency":"usd","status":"succeeded","description":""#
    );
    let after = r#""}},"livemode":false,"pending_webhooks":1,"type":"payment_intent.succeeded"}"#;
    let variant = "0".repeat(VARIANT_BYTES * 2);
    let padding = "x".repeat(BODY_BYTES.saturating_sub(before.len() + variant.len() + after.len()));
    [before.as_str(), &variant, &padding, after].concat().into_bytes()
}

fn find(bytes: &[u8], text: &str) -> Option<usize> {
    bytes
        .windows(text.len())
        .position(|window| window == text.as_bytes())
}

fn write_hex(bytes: &[u8], into: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (byte, pair) in bytes.iter().zip(into.chunks_exact_mut(2)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0xf)];
    }
}

fn unix_seconds() -> i64 {
    SystemClock::default().now().as_seconds()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hapax_verify::{Options, Request, Verification, Verifier, catalogue};

    use super::*;

    const SECRET: &str = "whsec_load_test";

    fn prepared(count: usize, seed: u64) -> Prepared {
        let address = "127.0.0.1:1".parse().unwrap();
        Prepared::new(&Recipe {
            address,
            path: "/in/bench",
            secret: SECRET,
            count,
            seed,
            conflicting_ids: None,
        })
        .unwrap()
    }

    fn event_id_by_the_verifier(request: &[u8]) -> String {
        let text = std::str::from_utf8(request).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let headers: Vec<(&str, &str)> = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .collect();
        assert_eq!(body.len(), BODY_BYTES);
        serde_json::from_str::<serde_json::Value>(body).unwrap();
        let stripe = catalogue::get("stripe").unwrap();
        let verifier = Verifier::new(&stripe.recipe(), &[SECRET], &Options::default()).unwrap();
        let received_at = unix_seconds();
        let request = Request::new(&headers, body.as_bytes(), received_at);
        let Verification::Events(events) = verifier.verify(&request).unwrap() else {
            panic!("no event")
        };
        events[0].event_id.clone()
    }

    #[test]
    fn every_prepared_delivery_verifies_and_has_its_own_id() {
        let prepared = prepared(50, 7);
        let mut request = prepared.blank();
        let ids: BTreeSet<String> = (0..prepared.count())
            .map(|number| {
                prepared.fill(number, &mut request);
                let id = event_id_by_the_verifier(&request);
                assert_eq!(prepared.event_id(number).unwrap(), id);
                id
            })
            .collect();
        assert_eq!(ids.len(), 50);
    }

    #[test]
    fn conflicting_deliveries_repeat_the_first_ids_with_bodies_of_their_own() {
        let first = prepared(3, 7);
        let prepared = Prepared::new(&Recipe {
            address: "127.0.0.1:1".parse().unwrap(),
            path: "/in/bench",
            secret: SECRET,
            count: 30,
            seed: 7,
            conflicting_ids: Some(3),
        })
        .unwrap();
        let mut request = prepared.blank();
        let mut requests = BTreeSet::new();
        for number in 0..prepared.count() {
            prepared.fill(number, &mut request);
            let id = event_id_by_the_verifier(&request);
            assert_eq!(first.event_id(number % 3).unwrap(), id);
            requests.insert(request.clone());
        }
        assert_eq!(requests.len(), 30);
    }

    #[test]
    fn a_seed_repeats_its_events_and_another_makes_others() {
        let ids = |seed| {
            (0..20)
                .map(|number| prepared(20, seed).event_id(number))
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(1), ids(1));
        assert_ne!(ids(1), ids(2));
    }

    fn recipe(count: usize) -> Recipe<'static> {
        Recipe {
            address: "127.0.0.1:1".parse().unwrap(),
            path: "/in/bench",
            secret: SECRET,
            count,
            seed: 0,
            conflicting_ids: None,
        }
    }

    #[test]
    fn known_ids_are_sent_with_the_bodies_that_a_filled_store_has() {
        let ids: Vec<IdBytes> = (1..=3).map(|number| [number; ID_BYTES]).collect();
        let prepared = Prepared::known(&recipe(2), ids.as_flattened()).unwrap();
        assert_eq!(prepared.count(), 2);
        let bodies = Bodies::new().unwrap();
        let mut request = prepared.blank();
        for (number, id) in ids.iter().take(2).enumerate() {
            prepared.fill(number, &mut request);
            assert_eq!(event_id_by_the_verifier(&request), event_id(id));
            assert!(request.ends_with(&bodies.of(id)));
        }
    }

    #[test]
    fn a_file_that_is_not_a_list_of_ids_is_refused() {
        assert!(Prepared::known(&recipe(2), &[]).is_err());
        assert!(Prepared::known(&recipe(2), &[0; ID_BYTES + 1]).is_err());
    }

    #[test]
    fn no_deliveries_or_too_many_are_refused() {
        let address = "127.0.0.1:1".parse().unwrap();
        for count in [0, DELIVERIES_MAX + 1] {
            let recipe = Recipe {
                address,
                path: "/",
                secret: SECRET,
                count,
                seed: 0,
                conflicting_ids: None,
            };
            assert!(Prepared::new(&recipe).is_err());
        }
    }
}
