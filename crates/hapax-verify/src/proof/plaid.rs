//! Plaid: a signed token that names the hash of the body, by a key that is fetched by its id.
//!
//! The algorithm is fixed. A token that names another is refused before anything else in it is read.

mod jwk;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use jwk::{Jwk, fresh_pair, public_jwk, read_jwk};

use super::code::Code;
use super::jwt::{self, Compact, JwtAlgorithm};
use super::key_url::is_hex;
use super::keyed::each_secret;
use super::{Prove, Proven, Setup, Stop, instant, invalid, required_header};
use crate::delivery::{Delivery, Sign};
use crate::identity::{Origin, ValuePath};
use crate::keys::{KeyKind, KeyRequest, Question};
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::secret_pair::SecretPair;
use crate::setup::{SecretProblem, SetupError};
use crate::trace::Trace;

const HEADER: &str = "plaid-verification";
const TOLERANCE_SECONDS: u32 = 300;
/// The maximum length of a key id.
const KEY_ID_BYTES_MAX: usize = 64;
const NOT_PLAIDS: &str = "its id is not one of Plaid's";
const ENVIRONMENTS: [&str; 3] = ["production", "sandbox", "development"];

pub(super) struct Plaid;

struct PlaidProof {
    keys: Vec<Jwk>,
    account: Option<Account>,
}

/// The credentials that Plaid requires before it returns a key.
struct Account {
    client_id: String,
    client_secret: String,
    environment: String,
}

#[derive(Deserialize)]
struct Claims {
    iat: i64,
    request_body_sha256: String,
}

impl Code for Plaid {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(Box::new(PlaidProof {
            keys: each_secret(setup.secrets, public_jwk)?,
            account: account(setup.options)?,
        }))
    }

    fn signer(&self, secret: &str, _: &Options) -> Result<Box<dyn Sign>, SetupError> {
        let signer = PlaidSigner::from_secret(secret).ok_or(SetupError::Secret {
            position: 1,
            problem: SecretProblem::NotASigningKey {
                expected: "a private key on P-256 as a JWK",
            },
        })?;
        Ok(Box::new(signer))
    }

    fn headers(&self) -> &'static [&'static str] {
        &[HEADER]
    }

    fn tolerance_seconds(&self) -> Option<u32> {
        Some(TOLERANCE_SECONDS)
    }

    fn summary(&self) -> &'static str {
        "a token signed with es256 that names the sha256 of the body, by a key that is fetched"
    }

    fn secret_pair(&self, random: &[u8; 32]) -> SecretPair {
        fresh_pair(random).unwrap_or_default()
    }
}

impl PlaidProof {
    fn key(&self, request: &Request<'_>, key_id: &str) -> Result<(Option<usize>, Jwk), Stop> {
        let configured = self
            .keys
            .iter()
            .position(|key| key.kid.as_deref() == Some(key_id));
        if let Some((index, key)) = configured.and_then(|index| Some((index, self.keys.get(index)?))) {
            return Ok((Some(index), key.clone()));
        }
        if let Some(bytes) = request.keys.get(key_id) {
            let key = read_jwk(&bytes).filter(|key| key.kid.as_deref().is_none_or(|kid| kid == key_id));
            let key = key.ok_or_else(|| refused("the document fetched for its id is not a key on P-256"))?;
            return Ok((None, key));
        }
        match &self.account {
            Some(account) if is_plaids(key_id) => Err(Stop::NeedsKey(account.request_for(key_id))),
            Some(_) => Err(refused(NOT_PLAIDS).into()),
            None => Err(refused(
                "its id matches none of the keys in `secrets`, and `client_id` and `client_secret` are not set",
            )
            .into()),
        }
    }

    fn check(&self, request: &Request<'_>) -> Result<(Option<usize>, Claims), Stop> {
        let unusable = |problem| invalid(HEADER, problem);
        let token = required_header(request, HEADER)?;
        let token = Compact::parse(token, JwtAlgorithm::Es256).map_err(unusable)?;
        let (index, key) = self.key(request, key_id(&token)?)?;
        if key.expired_at.is_some_and(|at| at <= request.received_at) {
            return Err(refused("it has expired").into());
        }
        let point = key.point().ok_or_else(|| refused("it is not a key on P-256"))?;
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        let mismatch = |_| invalid(HEADER, SignatureProblem::Mismatch);
        public
            .verify(token.signed.as_bytes(), &token.signature)
            .map_err(mismatch)?;
        Ok((index, token.claims().map_err(unusable)?))
    }
}

impl Prove for PlaidProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let (secret_index, claims) = match self.check(request) {
            Ok(checked) => checked,
            Err(Stop::Rejected(rejection)) => {
                trace.step::<()>("signature", Err(rejection.clone()), |()| String::new())?;
                return Err(rejection.into());
            }
            Err(stop @ Stop::NeedsKey(_)) => return Err(stop),
        };
        trace.passed("signature", || {
            "the token is signed with the key that it names".to_owned()
        });
        let time = instant::near(Some(claims.iat), request.received_at, TOLERANCE_SECONDS);
        let signed_at = trace.step("timestamp", time, |at| {
            format!("signed at {at}, received at {}", request.received_at)
        })?;
        trace.step("body", check_body(&claims, request.body), |()| {
            "it has the hash that the token names".to_owned()
        })?;
        Ok(Proven {
            secret_index,
            signed_at: Some(signed_at),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        request.headers.get(HEADER).is_some()
    }

    fn covers(&self, place: &ValuePath) -> bool {
        match place.origin() {
            Origin::Header(_) | Origin::Url => false,
            Origin::Body => true,
        }
    }
}

/// The id of the key, if it is well-formed.
fn key_id<'t>(token: &'t Compact<'_>) -> Result<&'t str, Rejection> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_id = |id: &&str| !id.is_empty() && id.len() <= KEY_ID_BYTES_MAX && id.bytes().all(plain);
    let id = token.key_id.as_deref().filter(is_id);
    id.ok_or_else(|| refused(NOT_PLAIDS))
}

/// Whether Plaid can have a key with this id: its ids are UUIDs.
fn is_plaids(key_id: &str) -> bool {
    let lengths = key_id.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && key_id.split('-').all(is_hex)
}

impl Account {
    fn request_for(&self, key_id: &str) -> KeyRequest {
        let body = serde_json::json!({
            "client_id": self.client_id,
            "secret": self.client_secret,
            "key_id": key_id,
        });
        KeyRequest {
            url: format!(
                "https://{}.plaid.com/webhook_verification_key/get",
                self.environment
            ),
            key_id: key_id.to_owned(),
            kind: KeyKind::Published,
            question: Some(Box::new(Question::json(body.to_string().into_bytes()))),
            expects: "\"key\"",
        }
    }
}

struct PlaidSigner {
    pair: EcdsaKeyPair,
    key_id: String,
}

impl PlaidSigner {
    fn from_secret(secret: &str) -> Option<Self> {
        let key = read_jwk(secret.as_bytes())?;
        let private = URL_SAFE_NO_PAD.decode(key.d.as_deref()?).ok()?;
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_private_key_and_public_key(algorithm, &private, &key.point()?).ok()?;
        Some(PlaidSigner {
            pair,
            key_id: key.kid?,
        })
    }
}

impl Sign for PlaidSigner {
    fn sign(&self, delivery: &mut Delivery) {
        let hash = hex::encode(digest(&SHA256, &delivery.body));
        let header = serde_json::json!({"alg": "ES256", "kid": self.key_id, "typ": "JWT"});
        let claims = serde_json::json!({"iat": delivery.timestamp, "request_body_sha256": hash});
        let unsigned = jwt::unsigned(&header, &claims);
        let Ok(signature) = self.pair.sign(&SystemRandom::new(), unsigned.as_bytes()) else {
            return;
        };
        delivery.set_header(HEADER, &jwt::signed(&unsigned, signature.as_ref()));
    }
}

fn check_body(claims: &Claims, body: &[u8]) -> Result<(), Rejection> {
    let named = hex::decode(&claims.request_body_sha256).unwrap_or_default();
    let mismatch = |_| invalid(HEADER, SignatureProblem::BodyMismatch);
    verify_slices_are_equal(digest(&SHA256, body).as_ref(), &named).map_err(mismatch)
}

fn account(options: &Options) -> Result<Option<Account>, SetupError> {
    let environment = options.text("environment").unwrap_or("production");
    if !ENVIRONMENTS.contains(&environment) {
        return Err(SetupError::OptionInvalid {
            name: "environment",
            expected: "`production`, `sandbox` or `development`",
        });
    }
    match (options.text("client_id"), options.text("client_secret")) {
        (None, None) => Ok(None),
        (Some(client_id), Some(client_secret)) => Ok(Some(Account {
            client_id: client_id.to_owned(),
            client_secret: client_secret.to_owned(),
            environment: environment.to_owned(),
        })),
        (Some(_), None) => Err(SetupError::OptionMissing {
            name: "client_secret",
        }),
        (None, Some(_)) => Err(SetupError::OptionMissing { name: "client_id" }),
    }
}

fn refused(problem: &str) -> Rejection {
    Rejection::KeyRefused {
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recipe, Verification, Verifier, catalogue};

    const NOW: i64 = 1_767_225_600;

    fn recipe() -> Recipe {
        catalogue::get("plaid").unwrap().recipe()
    }

    fn delivery(pair: &SecretPair) -> Delivery {
        let mut delivery = Delivery {
            timestamp: NOW,
            body: b"{}".to_vec(),
            ..Delivery::default()
        };
        PlaidSigner::from_secret(&pair.signing)
            .unwrap()
            .sign(&mut delivery);
        delivery
    }

    fn verify(secret: &str, delivery: &Delivery) -> Result<Verification, Rejection> {
        let verifier = Verifier::new(&recipe(), &[secret], &Options::default()).unwrap();
        verifier.verify(&Request::new(&delivery.headers, &delivery.body, NOW))
    }

    #[test]
    fn a_key_counts_until_it_expires() {
        let pair = fresh_pair(&[7; 32]).unwrap();
        let delivery = delivery(&pair);
        let mut key: serde_json::Value = serde_json::from_str(&pair.verifying).unwrap();
        for (expired_at, accepted) in [(NOW + 1, true), (NOW, false), (NOW - 1, false)] {
            key["expired_at"] = expired_at.into();
            assert_eq!(
                verify(&key.to_string(), &delivery).is_ok(),
                accepted,
                "{expired_at}"
            );
        }
    }

    #[test]
    fn a_key_that_is_not_at_hand_is_asked_for_at_plaid_and_nowhere_else() {
        let text = |text: &str| crate::OptionValue::Text(text.to_owned());
        let options: Options = [("client_id", text("c")), ("client_secret", text("s"))]
            .into_iter()
            .collect();
        let verifier = Verifier::new(&recipe(), &[] as &[&str], &options).unwrap();
        let delivery = delivery(&fresh_pair(&[7; 32]).unwrap());
        let request = Request::new(&delivery.headers, &delivery.body, NOW);
        let Ok(Verification::NeedsKey(key)) = verifier.verify(&request) else {
            panic!()
        };
        assert_eq!(
            key.url,
            "https://production.plaid.com/webhook_verification_key/get"
        );
        assert!(!format!("{key:?}").contains("\"s\""), "{key:?}");
    }

    #[test]
    fn only_an_id_that_plaid_can_have_is_asked_for() {
        assert!(is_plaids("bfbd5111-8e33-4643-8ced-b2e642a72f3c"));
        for wrong in [
            "nope",
            "",
            "bfbd51118e3346438cedb2e642a72f3c",
            "bfbd5111-8e33-4643-8ced-b2e642a72f3",
            "bfbd5111-8e33-4643-8ced-b2e642a72f3c-",
            "bfbd5111-8e33-4643-8ced-b2e642a72f3g",
        ] {
            assert!(!is_plaids(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_key_of_another_id_is_not_taken_for_the_one_that_is_named() {
        let (named, other) = (fresh_pair(&[7; 32]).unwrap(), fresh_pair(&[8; 32]).unwrap());
        let delivery = delivery(&named);
        let kid = read_jwk(named.verifying.as_bytes()).unwrap().kid.unwrap();
        let verifier = Verifier::new(&recipe(), &[] as &[&str], &Options::default()).unwrap();
        for (bytes, accepted) in [(&named.verifying, true), (&other.verifying, false)] {
            let keys = std::collections::BTreeMap::from([(kid.clone(), bytes.clone().into_bytes())]);
            let request = Request::new(&delivery.headers, &delivery.body, NOW).keys(&keys);
            assert_eq!(verifier.verify(&request).is_ok(), accepted);
        }
    }

    #[test]
    fn only_an_environment_of_plaid_is_asked() {
        let evil = crate::OptionValue::Text("evil.example/".to_owned());
        let options: Options = [("environment", evil)].into_iter().collect();
        assert!(Verifier::new(&recipe(), &[] as &[&str], &options).is_err());
    }
}
