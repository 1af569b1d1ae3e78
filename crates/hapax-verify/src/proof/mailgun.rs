//! Mailgun: a keyed hash over a timestamp and a token, all three inside the body.
//!
//! Nothing else of the body is covered, so the event itself is only as genuine as the connection it came over.

use aws_lc_rs::hmac::HMAC_SHA256;

use super::coded::Code;
use super::keyed::{KeyedHashes, text_key};
use super::{Prove, Proven, Setup, Stop, instant, invalid};
use crate::identity::{Place, Pointers};
use crate::request::form_value;
use crate::sign::{Delivery, Sign};
use crate::trace::Trace;
use crate::{Encoding, Options, Rejection, Request, SetupError, SignatureProblem};

const PLACE: &str = "body:/signature";
const TOLERANCE_SECONDS: u32 = 900;
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

    fn tolerance_seconds(&self) -> Option<u32> {
        Some(TOLERANCE_SECONDS)
    }

    fn summary(&self) -> &'static str {
        "hmac-sha256 in hexadecimal over a timestamp and a token in the body, and nothing else"
    }
}

impl MailgunProof {
    /// Timestamp, token and signature: of a JSON body, or else of a form.
    fn parts(&self, body: &[u8]) -> Result<[String; 3], Rejection> {
        let missing = || Rejection::SignatureNotInBody {
            place: PLACE.to_owned(),
        };
        let extracted = self.pointers.extract(body).ok();
        let part = |slot: usize| match &extracted {
            Some(json) => json.scalar(slot).ok().flatten().map(std::borrow::Cow::into_owned),
            None => form_value(body, PARTS[slot]),
        };
        match (part(0), part(1), part(2)) {
            (Some(timestamp), Some(token), Some(signature)) => Ok([timestamp, token, signature]),
            (_, _, _) => Err(missing()),
        }
    }

    fn check(&self, [timestamp, token, signature]: &[String; 3]) -> Result<usize, Rejection> {
        let undecodable = |_| invalid(PLACE, SignatureProblem::NotDecodable(Encoding::Hex));
        let signature = hex::decode(signature).map_err(undecodable)?;
        // The two stand one after the other without a mark between them: only digits belong to the first.
        let digits = instant::decimal(timestamp).is_some();
        let begins_with_digit = token.starts_with(|character: char| character.is_ascii_digit());
        let ambiguous = !digits || token.is_empty() || (begins_with_digit && timestamp.len() != 10);
        if ambiguous {
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
        let parts = trace.step("signature in the body", self.parts(request.body), |_| {
            "timestamp, token and signature are there".to_owned()
        })?;
        let index = trace.step("signature", self.check(&parts), |index| {
            format!("made with secret {} of {}", index + 1, self.keys.count())
        })?;
        let time = instant::near(instant::decimal(&parts[0]), request.received_at, self.tolerance);
        let signed_at = trace.step("timestamp", time, |at| {
            format!("signed at {at}, received at {}", request.received_at)
        })?;
        trace.noted("body", || {
            "the event is not signed: whoever has seen one signature could put another event beside it"
                .to_owned()
        });
        Ok(Proven {
            secret_index: Some(index),
            signed_at: Some(signed_at),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        self.parts(request.body).is_ok()
    }

    fn covers(&self, _: &Place) -> bool {
        false
    }
}

struct MailgunSigner(KeyedHashes);

impl Sign for MailgunSigner {
    fn sign(&self, delivery: &mut Delivery) {
        let timestamp = delivery.timestamp.to_string();
        // Mailgun's tokens are fifty random characters; a test delivery needs one that is its own.
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
