//! Requests forged from genuine ones: another body, another id or another time under a signature that is still valid.
//! None of them may become a separate event.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeSet;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{
    CustomScheme, OptionValue, Options, Recipe, Rejection, Request, Scheme, SetupError, Verification,
    Verifier, sample,
};

const NOW: i64 = 1_767_225_600;
const HOUR: i64 = 3_600;
const URL: &str = "https://hooks.example.com/in/sender";
const SID: &str = "SM00000000000000000000000000000abc";

/// A provider, its secret and the verifier of a source for it.
struct Sender {
    provider: &'static Provider,
    secret: SecretPair,
    verifier: Verifier,
}

impl Sender {
    fn new(name: &str) -> Self {
        let provider = catalogue::get(name).unwrap();
        let secret = generate_secret(provider, &[7; 32]);
        let options = provider.sample_options();
        let verifier = Verifier::new(&provider.recipe(), &[&secret.verifying], &options).unwrap();
        Sender {
            provider,
            secret,
            verifier,
        }
    }

    fn sign(&self, delivery: Delivery) -> Delivery {
        let options = self.provider.sample_options();
        let signer = ProviderSigner::new(self.provider, &self.secret.signing, &options).unwrap();
        signer.sign(Delivery {
            url: URL.to_owned(),
            timestamp: NOW,
            ..delivery
        })
    }

    fn sample(&self) -> Delivery {
        self.sign(sample::of_provider(self.provider, "sample_1").delivery(NOW))
    }

    fn verify_at(&self, delivery: &Delivery, now: i64) -> Result<Verification, Rejection> {
        let request = Request::new(&delivery.headers, &delivery.body, now)
            .method(&delivery.method)
            .url(&delivery.url);
        self.verifier.verify(&request)
    }

    /// The ids of the resulting events; none if the delivery is refused.
    fn ids(&self, delivery: &Delivery) -> Vec<String> {
        match self.verify_at(delivery, NOW) {
            Ok(Verification::Events(events)) => events.into_iter().map(|event| event.event_id).collect(),
            Ok(other) => panic!("{other:?}"),
            Err(_) => Vec::new(),
        }
    }
}

#[test]
fn a_transmission_of_paypal_is_accepted_for_three_days_and_an_hour() {
    let paypal = Sender::new("paypal");
    let delivery = paypal.sample();
    for now in [NOW, NOW + 72 * HOUR, NOW + 73 * HOUR] {
        assert!(paypal.verify_at(&delivery, now).is_ok(), "{}", now - NOW);
    }
    for now in [NOW + 73 * HOUR + 1, NOW + 5 * 365 * 24 * HOUR, NOW - 74 * HOUR] {
        let code = paypal.verify_at(&delivery, now).unwrap_err().code();
        assert_eq!(code, "timestamp_out_of_range", "{}", now - NOW);
    }
}

#[test]
fn a_certificate_of_paypal_is_asked_for_only_where_its_certificates_are() {
    let paypal = Sender::new("paypal");
    let provider = paypal.provider;
    let unkeyed = Verifier::new(&provider.recipe(), &[] as &[&str], &provider.sample_options()).unwrap();
    let asks = |url: &str| {
        let mut delivery = paypal.sample();
        delivery.headers.retain(|(name, _)| name != "paypal-cert-url");
        delivery
            .headers
            .push(("paypal-cert-url".to_owned(), url.to_owned()));
        let request = Request::new(&delivery.headers, &delivery.body, NOW);
        matches!(unkeyed.verify(&request), Ok(Verification::NeedsKey(_)))
    };
    assert!(asks(
        "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77"
    ));
    assert!(asks(
        "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77"
    ));
    for url in [
        "https://api.paypal.com/anything/else",
        "https://api.paypal.com/v1/notifications/certs/",
        "https://api.paypal.com/v1/notifications/certs/a/b",
        "https://api.paypal.com/v1/notifications/certs/CERT-made-up",
        "https://community.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77",
    ] {
        assert!(!asks(url), "{url}");
    }
}

/// The same values in arrays instead of objects have the same signature, but no id can be found in them.
#[test]
fn an_item_of_adyen_has_one_id_however_its_json_is_written() {
    let adyen = Sender::new("adyen");
    let genuine = adyen.sample();
    assert_eq!(adyen.ids(&genuine), ["sample_1:AUTHORISATION:true"]);
    let body: serde_json::Value = serde_json::from_slice(&genuine.body).unwrap();
    let item = &body["notificationItems"][0]["NotificationRequestItem"];
    let field = |name: &str| item.get(name).cloned().unwrap_or_default();
    let (amount, data) = (&item["amount"], &item["additionalData"]);
    let amount = serde_json::json!([amount["value"], amount["currency"]]);
    let data = serde_json::json!([data["hmacSignature"]]);
    let list = serde_json::json!([
        field("pspReference"),
        null,
        field("merchantAccountCode"),
        field("merchantReference"),
        amount,
        field("eventCode"),
        field("success"),
        data,
    ]);
    let with = |name: &str, value: &serde_json::Value| {
        let mut changed = body.clone();
        changed["notificationItems"][0]["NotificationRequestItem"][name] = value.clone();
        changed
    };
    let mut ids = BTreeSet::new();
    for forged in [
        serde_json::json!([[{ "NotificationRequestItem": item }]]),
        serde_json::json!({ "notificationItems": [[item]] }),
        serde_json::json!({ "notificationItems": [{ "NotificationRequestItem": list }] }),
        with("amount", &amount),
        with("additionalData", &data),
    ] {
        let forged = Delivery {
            body: forged.to_string().into_bytes(),
            ..genuine.clone()
        };
        ids.extend(adyen.ids(&forged));
    }
    assert_eq!(ids, BTreeSet::new());
}

fn twilio_callback(form: &str) -> Delivery {
    Delivery {
        headers: vec![(
            "content-type".to_owned(),
            "application/x-www-form-urlencoded".to_owned(),
        )],
        body: form.as_bytes().to_vec(),
        ..Delivery::default()
    }
}

/// Names and values are signed without separators.
#[test]
fn a_callback_of_twilio_has_one_id_wherever_the_borders_of_its_fields_are() {
    let twilio = Sender::new("twilio");
    let form = format!("From=%2B1500&MessageSid={SID}&MessageStatus=delivered&To=%2B1501");
    let genuine = twilio.sign(twilio_callback(&form));
    assert_eq!(twilio.ids(&genuine), [format!("{SID}:delivered")]);
    let mut ids = BTreeSet::new();
    for forged in [
        format!("From=%2B1500&MessageSi=d{SID}&MessageStatus=delivered&To=%2B1501"),
        format!("From=%2B1500&MessageSid={SID}MessageStatusdelivered&To=%2B1501"),
        format!("From=%2B1500&MessageSid={SID}&MessageStatu=sdelivered&To=%2B1501"),
        format!("From=%2B1500&MessageSid={SID}&MessageStatus=deliveredTo%2B1501"),
        format!("From=%2B1500&MessageSid={SID}&MessageStatus=deliver&edTo=%2B1501"),
        format!("From=%2B1500MessageSid{SID}&MessageStatus=delivered&To=%2B1501"),
    ] {
        let forged = Delivery {
            body: forged.into_bytes(),
            ..genuine.clone()
        };
        ids.extend(twilio.ids(&forged));
    }
    assert_eq!(ids, BTreeSet::new());
}

#[test]
fn a_signature_of_twilio_may_be_made_with_sha256() {
    let twilio = Sender::new("twilio");
    let form = format!("MessageSid={SID}&MessageStatus=sent");
    let mut delivery = twilio.sign(twilio_callback(&form));
    let key = hmac::Key::new(hmac::HMAC_SHA256, twilio.secret.signing.as_bytes());
    let text = format!("{URL}MessageSid{SID}MessageStatussent");
    let mut set = |signature: &[u8]| {
        delivery.headers.retain(|(name, _)| name != "x-twilio-signature");
        let signature = STANDARD.encode(signature);
        delivery
            .headers
            .push(("x-twilio-signature".to_owned(), signature));
        twilio.ids(&delivery)
    };
    let signature = hmac::sign(&key, text.as_bytes());
    assert_eq!(set(signature.as_ref()), [format!("{SID}:sent")]);
    // A truncated signature is not valid.
    assert!(set(&signature.as_ref()[..20]).is_empty());
    let other = hmac::Key::new(hmac::HMAC_SHA256, b"another secret");
    assert!(set(hmac::sign(&other, text.as_bytes()).as_ref()).is_empty());
}

#[test]
fn a_callback_of_twilio_by_get_has_its_fields_in_the_signed_query() {
    let twilio = Sender::new("twilio");
    let form = format!("MessageSid={SID}&MessageStatus=sent");
    let by_get = Delivery {
        method: "GET".to_owned(),
        headers: Vec::new(),
        ..twilio_callback(&form)
    };
    let mut delivery = twilio.sign(by_get);
    assert_eq!(delivery.url, format!("{URL}?{form}"));
    assert_eq!(twilio.ids(&delivery), [format!("{SID}:sent")]);
    delivery.url.push_str("&MessageStatus=failed");
    assert!(twilio.ids(&delivery).is_empty());
}

/// Challenges and deliveries are signed with the same key.
#[test]
fn what_braintree_has_signed_as_a_challenge_is_no_delivery() {
    let braintree = Sender::new("braintree");
    let challenge = "20f9f8ed05f77439fe955c977e4c8a53";
    let ask = |challenge: &str| {
        let challenge: String = form_urlencoded::byte_serialize(challenge.as_bytes()).collect();
        let query = format!("bt_challenge={challenge}");
        let headers: [(&str, &str); 0] = [];
        let request = Request::new(&headers, b"", NOW).method("GET").query(&query);
        braintree.verifier.verify(&request)
    };
    let Ok(Verification::Handshake(answer)) = ask(challenge) else {
        panic!("a challenge is answered")
    };
    let signature = String::from_utf8(answer.body).unwrap();
    for ending in ["", "%0A"] {
        let forged = Delivery {
            body: format!(
                "bt_signature={}&bt_payload={challenge}{ending}",
                signature.replace('|', "%7C")
            )
            .into_bytes(),
            ..Delivery::default()
        };
        let code = braintree.verify_at(&forged, NOW).unwrap_err().code();
        assert_eq!(code, "signature_invalid");
    }
    // A payload is not signed on request.
    let genuine = braintree.sample();
    let payload = form_urlencoded::parse(&genuine.body).find(|(name, _)| name == "bt_payload");
    let (_, payload) = payload.unwrap();
    for payload in [
        &*payload,
        payload.trim_end(),
        "PG4+PC9uPg==",
        "20f9f8ed05f77439fe955c97\n",
    ] {
        assert_eq!(ask(payload).unwrap_err().code(), "handshake_refused", "{payload}");
    }
}

fn custom(more: &str) -> Result<Scheme, SetupError> {
    let text = format!("scheme = \"hmac-sha256\"\nheader = \"x-signature\"\nid_header = \"x-id\"\n{more}");
    toml::from_str::<CustomScheme>(&text).unwrap().try_into()
}

#[test]
fn a_template_whose_parts_can_move_is_refused_with_what_to_write() {
    for (signed, example) in [
        ("{id}{body}", "\"{id}.{body}\""),
        ("{body}{id}", "\"{id}.{body}\""),
        ("{body}.{id}", "\"{id}.{body}\""),
        ("{header:x-tenant}{id}.{body}", "\"{header:x-tenant}.{id}\""),
    ] {
        let error = custom(&format!("signed = \"{signed}\"")).unwrap_err().to_string();
        assert!(error.contains(example), "{signed}: {error}");
    }
    for signed in ["{id}.{body}", "{id}|{header:x-tenant}|{body}"] {
        assert!(custom(&format!("signed = \"{signed}\"")).is_ok(), "{signed}");
    }
}

/// `a..` before `..` could also be `a` before `....`.
#[test]
fn an_id_that_ends_like_its_separator_is_refused() {
    let scheme = custom("signed = \"{id}..{body}\"").unwrap();
    let identity = toml::from_str("class = \"own-id\"\nevent_id = \"header:x-id\"").unwrap();
    let recipe = Recipe::custom(scheme, identity);
    let signer = ProviderSigner::of_proof(&recipe.proof, "secret", &Options::default()).unwrap();
    let verifier = Verifier::new(&recipe, &["secret"], &Options::default()).unwrap();
    let is_accepted = |id: &str, body: &str| {
        let delivery = signer.sign(Delivery {
            id: id.to_owned(),
            body: body.as_bytes().to_vec(),
            ..Delivery::default()
        });
        let request = Request::new(&delivery.headers, &delivery.body, NOW);
        verifier.verify(&request).is_ok()
    };
    assert!(is_accepted("a", ".b"));
    assert!(!is_accepted("a.", "b"));
}

#[test]
fn the_account_that_asks_paypal_is_whole_or_none() {
    let paypal = catalogue::get("paypal").unwrap();
    let compile = |more: &[(&str, &str)]| {
        let more = more
            .iter()
            .map(|(name, value)| (*name, OptionValue::Text((*value).to_owned())));
        let id = [("webhook_id", OptionValue::Text("W".to_owned()))];
        let options: Options = id.into_iter().chain(more).collect();
        Verifier::new(&paypal.recipe(), &[] as &[&str], &options)
    };
    let (id, secret) = (("client_id", "c"), ("client_secret", "s"));
    assert!(compile(&[id, secret, ("environment", "sandbox")]).is_ok());
    assert!(compile(&[id]).is_err());
    assert!(compile(&[secret]).is_err());
    assert!(compile(&[("environment", "production")]).is_err());
    assert!(compile(&[("tolerance_seconds", "262800")]).is_ok());
    assert!(compile(&[("tolerance_seconds", "262801")]).is_err());
}
