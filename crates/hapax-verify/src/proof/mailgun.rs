//! Mailgun: a keyed hash over a timestamp and a token, all three inside the body.
//!
//! Nothing else in the body is covered, so the event itself is only as trustworthy as the connection that it arrived
//! over.

use aws_lc_rs::hmac::HMAC_SHA256;

use super::code::Code;
use super::keyed::{KeyedHashes, text_key};
use super::{Prove, Proven, Setup, Stop, instant, invalid};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::form::Form;
use crate::identity::{Pointers, ValuePath};
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::setup::SetupError;
use crate::trace::Trace;

const PLACE: &str = "body:/signature";
const TOLERANCE_SECONDS: u32 = 900;
/// Unix seconds have ten digits from 2001 to 2286.
const TIMESTAMP_DIGITS: usize = 10;
const PARTS: [&str; 3] = ["timestamp", "token", "signature"];

pub(super) struct Mailgun;

struct MailgunProof {
    keys: KeyedHashes,
    tolerance: u32,
    pointers: Pointers,
}

impl Code for Mailgun {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        let mut pointers = Pointers::default();
        for name in PARTS {
            pointers.add(&crate::identity::Pointer::of_keys(&["signature", name]))?;
        }
        Ok(Box::new(MailgunProof {
            keys: KeyedHashes::new(HMAC_SHA256, setup.secrets, text_key)?,
            tolerance: instant::tolerance(setup.options, TOLERANCE_SECONDS)?,
            pointers,
        }))
    }

    fn signer(&self, secret: &str, _: &Options) -> Result<Box<dyn Sign>, SetupError> {
        let keys = KeyedHashes::new(HMAC_SHA256, &[secret], text_key)?;
        Ok(Box::new(MailgunSigner(keys)))
    }

    fn body_credentials(&self) -> &'static [&'static str] {
        &["signature", "token"]
    }

    fn tolerance_seconds(&self) -> Option<u32> {
        Some(TOLERANCE_SECONDS)
    }

    fn summary(&self) -> &'static str {
        "hmac-sha256 in hexadecimal over a timestamp and a token in the body, and nothing else"
    }
}

impl MailgunProof {
    /// The timestamp, token and signature, from a JSON body or else from a form. A message with attachments is a
    /// multipart form.
    fn parts(&self, request: &Request<'_>) -> Result<[String; 3], Rejection> {
        let found = match self.pointers.extract(request.body) {
            Ok(json) => [0, 1, 2].map(|slot| Some(json.scalar(slot).ok()??.into_owned())),
            Err(_) => Form::new(request.headers, request.body).values(PARTS),
        };
        match found {
            [Some(timestamp), Some(token), Some(signature)] => Ok([timestamp, token, signature]),
            _ => Err(Rejection::SignatureNotInBody {
                place: PLACE.to_owned(),
            }),
        }
    }

    fn check(&self, [timestamp, token, signature]: &[String; 3]) -> Result<usize, Rejection> {
        let undecodable = |_| invalid(PLACE, SignatureProblem::NotDecodable(Encoding::Hex));
        let signature = hex::decode(signature).map_err(undecodable)?;
        // Both are concatenated without a separator, so the timestamp must have its usual length.
        if timestamp.len() != TIMESTAMP_DIGITS || instant::decimal(timestamp).is_none() {
            return Err(invalid(PLACE, SignatureProblem::Unreadable));
        }
        let found = self
            .keys
            .matching(&[timestamp.as_bytes(), token.as_bytes()], &signature);
        found.ok_or_else(|| invalid(PLACE, SignatureProblem::Mismatch))
    }
}

impl Prove for MailgunProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let parts = trace.step("signature in the body", self.parts(request), |_| {
            "timestamp, token and signature are present".to_owned()
        })?;
        let index = trace.step("signature", self.check(&parts), |index| {
            format!("made with secret {} of {}", index + 1, self.keys.count())
        })?;
        let time = instant::near(instant::decimal(&parts[0]), request.received_at, self.tolerance);
        let signed_at = trace.step("timestamp", time, |at| {
            format!("signed at {at}, received at {}", request.received_at)
        })?;
        trace.noted("body", || {
            "the event is not signed: anyone who has seen one signature could attach another event to it"
                .to_owned()
        });
        Ok(Proven {
            secret_index: Some(index),
            signed_at: Some(signed_at),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        self.parts(request).is_ok()
    }

    fn is_in_body(&self) -> bool {
        true
    }

    fn covers(&self, _: &ValuePath) -> bool {
        false
    }
}

struct MailgunSigner(KeyedHashes);

impl Sign for MailgunSigner {
    fn sign(&self, delivery: &mut Delivery) {
        let timestamp = delivery.timestamp.to_string();
        // Mailgun's tokens are fifty random characters; a test delivery needs a unique one.
        let token = format!("token-of-{}", delivery.id);
        let signature = hex::encode(self.0.hash(&[timestamp.as_bytes(), token.as_bytes()]));
        let Ok(mut body) = serde_json::from_slice::<serde_json::Value>(&delivery.body) else {
            return;
        };
        if let Some(object) = body.as_object_mut() {
            let triple = serde_json::json!({"timestamp": timestamp, "token": token, "signature": signature});
            object.insert("signature".to_owned(), triple);
            delivery.body = body.to_string().into_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OptionValue, Verifier, catalogue};

    fn accepts(options: &Options, received_at: i64) -> bool {
        let provider = catalogue::get("mailgun").unwrap();
        let signer = Mailgun.signer("key", options).unwrap();
        let mut delivery = crate::sample::of_provider(provider, "id_1").delivery(1_000_000_000);
        signer.sign(&mut delivery);
        let verifier = Verifier::new(&provider.recipe(), &["key"], options).unwrap();
        verifier
            .verify(&Request::new(&delivery.headers, &delivery.body, received_at))
            .is_ok()
    }

    #[test]
    fn an_old_token_is_refused_and_how_old_can_be_configured() {
        let usual = Options::default();
        assert!(accepts(&usual, 1_000_000_900));
        assert!(!accepts(&usual, 1_000_000_901));
        let narrow = OptionValue::Text("60".to_owned());
        let narrow: Options = [("tolerance_seconds", narrow)].into_iter().collect();
        assert!(accepts(&narrow, 1_000_000_060));
        assert!(!accepts(&narrow, 1_000_000_061));
    }

    /// A digit moved from the token into the timestamp would make an old signature fresh.
    #[test]
    fn a_digit_cannot_be_moved_between_timestamp_and_token() {
        let keys = KeyedHashes::new(HMAC_SHA256, &["key"], text_key).unwrap();
        let signature = hex::encode(keys.hash(&[b"1000000000", b"5token"]));
        let proof = MailgunProof {
            keys,
            tolerance: TOLERANCE_SECONDS,
            pointers: Pointers::default(),
        };
        let check = |timestamp: &str, token: &str| {
            proof.check(&[timestamp.to_owned(), token.to_owned(), signature.clone()])
        };
        assert!(check("1000000000", "5token").is_ok());
        assert!(check("10000000005", "token").is_err());
        assert!(check("100000000", "05token").is_err());
    }
}
