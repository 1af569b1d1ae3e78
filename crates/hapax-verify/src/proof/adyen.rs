//! Adyen: each item of a payment notification carries a keyed hash over eight of its fields; platform webhooks carry
//! one over the body in a header.
//!
//! The eight fields are joined without escaping. Fields that never contain a `:` in genuine items must not contain one,
//! so that nobody can move part of one field into its neighbour and thereby give an old item a new id.

use aws_lc_rs::hmac::HMAC_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::code::Code;
use super::keyed::KeyedHashes;
use super::{Prove, Proven, Setup, Stop, invalid, required_header};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::identity::ValuePath;
use crate::limits::BATCH_EVENTS_MAX;
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::{Request, json_text};
use crate::scheme::{KeyEncoding, derive};
use crate::setup::{SecretProblem, SetupError};
use crate::trace::Trace;

const HEADER: &str = "hmacsignature";
const PLACE: &str = "body:/notificationItems/*/NotificationRequestItem/additionalData/hmacSignature";

pub(super) struct Adyen;

struct AdyenProof(KeyedHashes);

#[derive(Deserialize)]
struct Notification<'a> {
    #[serde(rename = "notificationItems", borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Wrapper<'a> {
    #[serde(rename = "NotificationRequestItem", borrow)]
    item: &'a RawValue,
}

/// The signed fields of an item. A field that occurs twice is an error, so that no other parser can read a different
/// value.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    #[serde(borrow)]
    psp_reference: Option<&'a RawValue>,
    #[serde(borrow)]
    original_reference: Option<&'a RawValue>,
    #[serde(borrow)]
    merchant_account_code: Option<&'a RawValue>,
    #[serde(borrow)]
    merchant_reference: Option<&'a RawValue>,
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
    #[serde(borrow)]
    event_code: Option<&'a RawValue>,
    #[serde(borrow)]
    success: Option<&'a RawValue>,
    #[serde(borrow)]
    additional_data: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Amount<'a> {
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    currency: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdditionalData<'a> {
    #[serde(borrow)]
    hmac_signature: Option<&'a RawValue>,
}

impl Code for Adyen {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(Box::new(AdyenProof(KeyedHashes::new(
            HMAC_SHA256,
            setup.secrets,
            hex_key,
        )?)))
    }

    fn signer(&self, secret: &str, _: &Options) -> Result<Box<dyn Sign>, SetupError> {
        Ok(Box::new(AdyenProof(KeyedHashes::new(
            HMAC_SHA256,
            &[secret],
            hex_key,
        )?)))
    }

    fn headers(&self) -> &'static [&'static str] {
        &[HEADER]
    }

    fn summary(&self) -> &'static str {
        "hmac-sha256 in base64 over eight fields of each item, or over the body of a platform webhook"
    }
}

impl AdyenProof {
    fn check(&self, request: &Request<'_>) -> Result<usize, Rejection> {
        if request.headers.get(HEADER).is_some() {
            let signature = decode(HEADER, required_header(request, HEADER)?)?;
            let found = self.0.matching(&[request.body], &signature);
            return found.ok_or_else(|| invalid(HEADER, SignatureProblem::Mismatch));
        }
        let missing = || Rejection::SignatureNotInBody {
            place: PLACE.to_owned(),
        };
        let items = items(json_text(request.body)).ok_or_else(missing)?;
        if items.len() > BATCH_EVENTS_MAX {
            return Err(invalid(PLACE, SignatureProblem::TooMany));
        }
        // Every item proves itself, so a request without items proves nothing.
        let mut first = Err(missing());
        for (index, item) in items.iter().enumerate() {
            let secret = self.check_item(item)?;
            if index == 0 {
                first = Ok(secret);
            }
        }
        first
    }

    fn check_item(&self, item: &Item<'_>) -> Result<usize, Rejection> {
        let data: Option<AdditionalData<'_>> = item
            .additional_data
            .and_then(|data| object(data.get().as_bytes()));
        let signature = data.and_then(|data| text(data.hmac_signature));
        let Some(signature) = signature.filter(|text| !text.is_empty()) else {
            return Err(Rejection::SignatureNotInBody {
                place: PLACE.to_owned(),
            });
        };
        let signature = decode(PLACE, &signature)?;
        let content = signed_content(item).ok_or_else(|| invalid(PLACE, SignatureProblem::Ambiguous))?;
        let found = self.0.matching(&[content.as_bytes()], &signature);
        found.ok_or_else(|| invalid(PLACE, SignatureProblem::Mismatch))
    }
}

impl Prove for AdyenProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let index = trace.step("signature", self.check(request), |index| {
            format!(
                "everything is signed, the first with secret {} of {}",
                index + 1,
                self.0.count()
            )
        })?;
        Ok(Proven {
            secret_index: Some(index),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        request.headers.get(HEADER).is_some() || !request.body.is_empty()
    }

    fn is_in_body(&self) -> bool {
        true
    }

    /// The fields of an id are signed, and so is the whole body of a platform webhook, which is identified by its hash.
    fn covers(&self, place: &ValuePath) -> bool {
        let signed = |pointer: &crate::identity::Pointer| {
            let names = ["pspReference", "eventCode", "success"];
            let last = pointer.tokens().last();
            last.is_some_and(|last| names.contains(&last.as_str()))
        };
        match place {
            ValuePath::Body(pointer) | ValuePath::Flag(pointer) => signed(pointer),
            ValuePath::BodySha256 => true,
            ValuePath::Header(_)
            | ValuePath::Query(_)
            | ValuePath::Form(_)
            | ValuePath::Request(_)
            | ValuePath::RequestSha256
            | ValuePath::Index
            | ValuePath::Present(_)
            | ValuePath::Proof(_)
            | ValuePath::Text(_) => false,
        }
    }
}

impl Sign for AdyenProof {
    fn sign(&self, delivery: &mut Delivery) {
        let items = items(&delivery.body).unwrap_or_default();
        // Items that are already signed stay as they are, byte for byte: when sent again, they are the same events.
        if !items.is_empty() && items.iter().all(|item| self.check_item(item).is_ok()) {
            return;
        }
        let signatures: Vec<serde_json::Value> = items.iter().map(|item| self.sign_item(item)).collect();
        let Ok(mut body) = serde_json::from_slice::<serde_json::Value>(&delivery.body) else {
            return;
        };
        let Some(items) = body
            .get_mut("notificationItems")
            .and_then(|items| items.as_array_mut())
        else {
            let signature = STANDARD.encode(self.0.hash(&[&delivery.body]));
            return delivery.set_header(HEADER, &signature);
        };
        for (item, signature) in items.iter_mut().zip(signatures) {
            item["NotificationRequestItem"]["additionalData"]["hmacSignature"] = signature;
        }
        delivery.body = body.to_string().into_bytes();
    }
}

impl AdyenProof {
    fn sign_item(&self, item: &Item<'_>) -> serde_json::Value {
        let content = signed_content(item).unwrap_or_default();
        STANDARD.encode(self.0.hash(&[content.as_bytes()])).into()
    }
}

/// The items of a payment notification, if it has the shape that Adyen sends.
fn items(body: &[u8]) -> Option<Vec<Item<'_>>> {
    let notification: Notification<'_> = object(body)?;
    notification.items.into_iter().map(item).collect()
}

fn item(wrapper: &RawValue) -> Option<Item<'_>> {
    let wrapper: Wrapper<'_> = object(wrapper.get().as_bytes())?;
    object(wrapper.item.get().as_bytes())
}

/// The members of a JSON object. An array is rejected, although the library would read it as the members in their
/// order: code that looks for an id by its name would not find it there.
fn object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Option<T> {
    let is_object = json.trim_ascii_start().starts_with(b"{");
    is_object.then(|| serde_json::from_slice(json).ok()).flatten()
}

/// The eight fields joined with `:`; `None` if one contains a `:` that could be mistaken for a separator.
fn signed_content(item: &Item<'_>) -> Option<String> {
    let plain = |value: Option<&RawValue>| {
        let value = text(value).unwrap_or_default();
        (!value.contains(':')).then_some(value)
    };
    let any = |value: Option<&RawValue>| text(value).unwrap_or_default();
    let amount: Amount<'_> = match item.amount {
        Some(amount) => object(amount.get().as_bytes())?,
        None => Amount::default(),
    };
    let parts = [
        plain(item.psp_reference)?,
        plain(item.original_reference)?,
        any(item.merchant_account_code),
        any(item.merchant_reference),
        plain(amount.value)?,
        plain(amount.currency)?,
        plain(item.event_code)?,
        plain(item.success)?,
    ];
    Some(parts.join(":"))
}

/// The text of a string, a number, `true` or `false`; `None` for anything else.
fn text(value: Option<&RawValue>) -> Option<String> {
    let raw = value?.get();
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).ok(),
        Some(b'{' | b'[' | b'n') | None => None,
        Some(_) => Some(raw.to_owned()),
    }
}

fn decode(place: &str, signature: &str) -> Result<Vec<u8>, Rejection> {
    let undecodable = |_| invalid(place, SignatureProblem::NotDecodable(Encoding::Base64));
    STANDARD.decode(signature).map_err(undecodable)
}

fn hex_key(secret: &str) -> Result<Vec<u8>, SecretProblem> {
    derive(KeyEncoding::Hex, None, secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";

    fn proof() -> AdyenProof {
        AdyenProof(KeyedHashes::new(HMAC_SHA256, &[KEY], hex_key).unwrap())
    }

    fn check(body: &str) -> Result<usize, Rejection> {
        let headers: [(&str, &str); 0] = [];
        proof().check(&Request::new(&headers, body.as_bytes(), 0))
    }

    fn item(fields: &str, content: &str) -> String {
        let signature = STANDARD.encode(proof().0.hash(&[content.as_bytes()]));
        format!(
            r#"{{"notificationItems":[{{"NotificationRequestItem":{{{fields},"additionalData":{{"hmacSignature":"{signature}"}}}}}}]}}"#
        )
    }

    #[test]
    fn success_may_be_a_json_boolean() {
        let fields = r#""pspReference":"p","eventCode":"E","success":true"#;
        assert!(check(&item(fields, "p::::::E:true")).is_ok());
        assert!(check(&item(fields, "p::::::E:false")).is_err());
    }

    #[test]
    fn a_request_without_items_proves_nothing() {
        assert!(check(r#"{"notificationItems":[]}"#).is_err());
        assert!(check("{}").is_err());
        assert!(check("").is_err());
    }

    #[test]
    fn a_part_of_one_field_cannot_be_moved_into_the_id() {
        let honest = r#""pspReference":"p","originalReference":"o","merchantAccountCode":"m","merchantReference":"a:b","eventCode":"E","success":"true""#;
        let moved = r#""pspReference":"p:o","originalReference":"m","merchantAccountCode":"a","merchantReference":"b","eventCode":"E","success":"true""#;
        let content = "p:o:m:a:b:::E:true";
        assert!(check(&item(honest, content)).is_ok());
        assert!(check(&item(moved, content)).is_err());
    }

    #[test]
    fn an_item_that_is_signed_already_is_not_written_anew() {
        let signed = item(
            r#""success":"true", "pspReference":"p","eventCode":"E""#,
            "p::::::E:true",
        );
        let mut delivery = Delivery {
            body: signed.clone().into_bytes(),
            ..Delivery::default()
        };
        proof().sign(&mut delivery);
        assert_eq!(delivery.body, signed.as_bytes());
        delivery.body = signed.replace("\"p\"", "\"q\"").into_bytes();
        proof().sign(&mut delivery);
        assert!(check(std::str::from_utf8(&delivery.body).unwrap()).is_ok());
    }

    #[test]
    fn a_field_that_occurs_twice_is_refused() {
        let fields = r#""pspReference":"p","pspReference":"p","eventCode":"E","success":"true""#;
        assert!(check(&item(fields, "p::::::E:true")).is_err());
    }
}
