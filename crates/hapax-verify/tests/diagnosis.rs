//! Diagnoses: a delivery with a known mistake is refused, and the mistake is named.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::diagnose::{BodyChange, Holder, Mistake, Suspect};
use hapax_verify::scheme::KeyEncoding;
use hapax_verify::sign::{Delivery, ProviderSigner, generate_secret};
use hapax_verify::{CustomScheme, Encoding, OptionValue, Options, Proof, Recipe, Request, Scheme, Verifier};

const NOW: i64 = 1_767_225_600;
const BODY: &str =
    r#"{"id": "evt_1", "type": "a.b", "name": "\u00e9", "url": "https:\/\/x.test", "n": 1.50}"#;

/// The presets whose signature is a keyed hash over any body, which is most of them.
fn keyed() -> Vec<&'static Provider> {
    let is_keyed = |provider: &&Provider| {
        let pair = generate_secret(provider, &[7; 32]);
        let scheme = provider.proof.scheme();
        let described =
            scheme.is_some_and(|scheme| scheme.signed.covers_body() && !scheme.signed.covers_url());
        described && pair.signing == pair.verifying && takes_any_body(provider, &pair.signing)
    };
    let providers: Vec<_> = catalogue::all().iter().filter(is_keyed).collect();
    assert!(providers.len() >= 20);
    providers
}

/// Some require the time inside the body.
fn takes_any_body(provider: &Provider, secret: &str) -> bool {
    let delivery = sign(provider, secret, "[]");
    let request = Request::new(&delivery.headers, &delivery.body, NOW);
    let verification = verifier(provider, secret).verify(&request);
    verification.map_or_else(|rejection| rejection.status() == 400, |_| true)
}

fn secret(provider: &Provider) -> String {
    generate_secret(provider, &[7; 32]).signing
}

fn sign(provider: &Provider, secret: &str, body: &str) -> Delivery {
    let signer = ProviderSigner::new(provider, secret, &Options::default()).unwrap();
    signer.sign(Delivery {
        id: "evt_1".to_owned(),
        timestamp: NOW,
        body: body.as_bytes().to_vec(),
        ..Delivery::default()
    })
}

fn verifier(provider: &Provider, secret: &str) -> Verifier {
    Verifier::new(&provider.recipe(), &[secret], &Options::default()).unwrap()
}

fn diagnosis(verifier: &Verifier, delivery: &Delivery) -> Option<Mistake> {
    let request = Request::new(&delivery.headers, &delivery.body, NOW);
    let mistake = verifier.diagnose(&request, &[]);
    assert!(verifier.verify(&request).is_err() || mistake.is_none());
    mistake
}

/// The diagnosis of a body that is signed as `sent` and arrives as `arrived`.
fn changed(provider: &Provider, sent: &str, arrived: &str) -> Option<Mistake> {
    let secret = secret(provider);
    let mut delivery = sign(provider, &secret, sent);
    delivery.body = arrived.as_bytes().to_vec();
    diagnosis(&verifier(provider, &secret), &delivery)
}

#[test]
fn a_changed_body_is_named_by_what_was_done_to_it() {
    let lines = "{\r\n\"id\":\"evt_1\"\r\n}";
    for provider in keyed() {
        for (sent, arrived, change) in [
            ("{}\n", "{}", BodyChange::LastLineBreakCut),
            ("{}\r\n", "{}", BodyChange::LastLineBreakCut),
            ("{}", "{}\n", BodyChange::BlanksAdded),
            ("{}", " {} ", BodyChange::BlanksAdded),
            (lines, &lines.replace('\r', ""), BodyChange::LineEndsShortened),
            (&lines.replace('\r', ""), lines, BodyChange::LineEndsLengthened),
            ("{}", "\u{feff}{}", BodyChange::MarkAdded),
            ("a=b+c&d=%2F", "a=b%20c&d=/", BodyChange::FormRewritten),
        ] {
            let mistake = changed(provider, sent, arrived);
            assert_eq!(
                mistake,
                Some(Mistake::Body(change)),
                "{}: {sent:?}",
                provider.name
            );
        }
    }
}

#[test]
fn json_that_was_read_and_written_anew_is_recognised_whoever_wrote_it_first() {
    let value: serde_json::Value = serde_json::from_str(BODY).unwrap();
    for provider in keyed() {
        for sent in [
            "{\"name\":\"\u{e9}\",\"id\":\"evt_1\",\"n\":1.50}",
            r#"{"name": "\u00e9", "id": "evt_1", "n": 1.50}"#,
            r#"{"name":"\u00E9","id":"evt_1","n":1.50}"#,
            "{\n    \"name\": \"\u{e9}\",\n    \"id\": \"evt_1\",\n    \"n\": 1.50\n}",
        ] {
            let arrived = "{ \"name\":\"\u{e9}\", \"id\":\"evt_1\" , \"n\":1.50 }";
            let mistake = changed(provider, sent, arrived);
            assert_eq!(mistake, Some(Mistake::Body(BodyChange::JsonRewritten)), "{sent}");
        }
        let sorted = value.to_string();
        let mistake = changed(provider, &sorted, BODY);
        assert_eq!(mistake, Some(Mistake::Body(BodyChange::JsonRewritten)));
    }
}

#[test]
fn a_body_with_another_value_is_no_known_mistake() {
    for provider in keyed() {
        let arrived = BODY.replace("1.50", "1.51");
        assert_eq!(changed(provider, BODY, &arrived), None, "{}", provider.name);
    }
}

#[test]
fn a_clock_that_is_off_is_named_with_the_seconds() {
    let mut tried = 0;
    for provider in keyed() {
        let secret = secret(provider);
        let delivery = sign(provider, &secret, BODY);
        for off_by_seconds in [100_412, -100_412] {
            let request = Request::new(&delivery.headers, &delivery.body, NOW + off_by_seconds);
            let verifier = verifier(provider, &secret);
            let Err(rejection) = verifier.verify(&request) else {
                continue;
            };
            if rejection.code() == "timestamp_out_of_range" {
                tried += 1;
                let mistake = verifier.diagnose(&request, &[]);
                assert_eq!(
                    mistake,
                    Some(Mistake::Clock { off_by_seconds }),
                    "{}",
                    provider.name
                );
                assert!(mistake.unwrap().to_string().contains("100412 s"));
            }
        }
    }
    assert!(tried >= 4);
}

#[test]
fn a_secret_of_another_source_or_an_older_one_is_recognised_and_not_shown() {
    for provider in keyed() {
        let (mine, other) = (secret(provider), generate_secret(provider, &[9; 32]).signing);
        let delivery = sign(provider, &other, BODY);
        let holder = verifier(provider, &other);
        let request = Request::new(&delivery.headers, &delivery.body, NOW);
        for (holder_name, mistake) in [
            (
                Holder::Source("billing"),
                Mistake::SecretOfSource {
                    source: "billing".to_owned(),
                },
            ),
            (Holder::Older, Mistake::OlderSecret),
        ] {
            let suspect = Suspect {
                holder: holder_name,
                verifier: &holder,
            };
            let found = verifier(provider, &mine).diagnose(&request, &[suspect]);
            assert_eq!(found.as_ref(), Some(&mistake), "{}", provider.name);
            let text = format!("{found:?} {}", found.as_ref().unwrap());
            assert!(!text.contains(&other) && !text.contains(&mine));
        }
        assert_eq!(verifier(provider, &mine).diagnose(&request, &[]), None);
    }
}

/// A custom scheme whose keys may be any text.
fn inhouse(more: &str) -> Scheme {
    let text = format!("scheme = \"hmac-sha256\"\nheader = \"x-signature\"\n{more}");
    toml::from_str::<CustomScheme>(&text).unwrap().try_into().unwrap()
}

fn identity() -> hapax_verify::IdentityRule {
    toml::from_str("class = \"own-id\"\nevent_id = \"body:/id\"").unwrap()
}

/// The diagnosis if one scheme and secret signs and another verifies.
fn crossed(sender: (&Scheme, &str), receiver: (&Scheme, &str)) -> Option<Mistake> {
    let proof = Proof::Signature(sender.0.clone());
    let signer = ProviderSigner::of_proof(&proof, sender.1, &Options::default()).unwrap();
    let delivery = signer.sign(Delivery {
        timestamp: NOW,
        body: BODY.as_bytes().to_vec(),
        ..Delivery::default()
    });
    let recipe = Recipe::custom(receiver.0.clone(), identity());
    let verifier = Verifier::new(&recipe, &[receiver.1], &Options::default()).unwrap();
    diagnosis(&verifier, &delivery)
}

#[test]
fn blanks_and_quotes_around_a_secret_are_named_on_whichever_side_they_are() {
    let scheme = inhouse("");
    for wrong in ["secret\n", " secret", "\"secret\"", "'secret'\r\n"] {
        let mistake = crossed((&scheme, "secret"), (&scheme, wrong));
        assert_eq!(
            mistake,
            Some(Mistake::SecretSurrounded { position: 1 }),
            "{wrong:?}"
        );
    }
    let mistake = crossed((&scheme, "secret\n"), (&scheme, "secret"));
    assert_eq!(mistake, Some(Mistake::SecretOfSenderSurrounded { position: 1 }));
}

#[test]
fn a_signature_in_the_other_encoding_is_recognised() {
    let (hex, base64) = (inhouse(""), inhouse("encoding = \"base64\""));
    let found = |found| Some(Mistake::SignatureEncoding { found });
    assert_eq!(crossed((&hex, "s"), (&base64, "s")), found(Encoding::Hex));
    assert_eq!(crossed((&base64, "s"), (&hex, "s")), found(Encoding::Base64));
}

#[test]
fn a_secret_that_is_decoded_on_one_side_and_not_on_the_other_is_recognised() {
    let secret = "c2VjcmV0c2VjcmV0";
    let (text, base64, hex) = (inhouse(""), inhouse("key = \"base64\""), inhouse("key = \"hex\""));
    let found = |sender| Some(Mistake::SecretReading { position: 1, sender });
    assert_eq!(
        crossed((&base64, secret), (&text, secret)),
        found(KeyEncoding::Base64)
    );
    assert_eq!(
        crossed((&text, secret), (&base64, secret)),
        found(KeyEncoding::Utf8)
    );
    assert_eq!(
        crossed((&hex, "ABCDEF12"), (&text, "ABCDEF12")),
        found(KeyEncoding::Hex)
    );
    // Two providers use this prefix, and decode their secrets differently.
    let prefixed = inhouse("key = \"base64\"\nkey_prefix = \"whsec_\"");
    let secret = format!("whsec_{secret}");
    assert_eq!(
        crossed((&prefixed, &secret), (&text, &secret)),
        found(KeyEncoding::Base64)
    );
}

#[test]
fn a_url_that_differs_from_the_configured_one_is_named_without_its_query() {
    let mut scheme = inhouse("signed = \"{url}{body}\"");
    for option in [None, Some("webhook_url".to_owned())] {
        scheme.url_option = option;
        for signed in [
            "http://hooks.test/in/a",
            "https://hooks.test/in/a/",
            "https://hooks.test:443/in/a",
            "https://hooks.test/in/a?token=hidden",
            "https://public.test/in/a",
        ] {
            let mistake = url_diagnosis(&scheme, signed, "https://hooks.test/in/a");
            let Some(Mistake::Url {
                signed: named,
                configured,
            }) = mistake
            else {
                panic!("{signed}: {mistake:?}")
            };
            assert_eq!(configured, "https://hooks.test/in/a");
            assert_eq!(named, signed.replace("token=hidden", "…"));
        }
        assert_eq!(
            url_diagnosis(&scheme, "https://other.test/b", "https://hooks.test/in/a"),
            None
        );
    }
}

fn url_diagnosis(scheme: &Scheme, signed: &str, configured: &str) -> Option<Mistake> {
    let option = |url: &str| -> Options {
        let name = scheme.url_option.iter();
        name.map(|name| (name.clone(), OptionValue::Text(url.to_owned())))
            .collect()
    };
    let proof = Proof::Signature(scheme.clone());
    let sender = ProviderSigner::of_proof(&proof, "s", &option(signed)).unwrap();
    let mut delivery = sender.sign(Delivery {
        url: signed.to_owned(),
        body: BODY.as_bytes().to_vec(),
        ..Delivery::default()
    });
    delivery
        .headers
        .push(("host".to_owned(), "public.test:8443".to_owned()));
    let recipe = Recipe::custom(scheme.clone(), identity());
    let verifier = Verifier::new(&recipe, &["s"], &option(configured)).unwrap();
    let query = signed.split_once('?').map_or("", |(_, query)| query);
    let request = Request::new(&delivery.headers, &delivery.body, NOW)
        .url(configured)
        .query(query);
    assert!(verifier.verify(&request).is_err());
    verifier.diagnose(&request, &[])
}

#[test]
fn a_delivery_of_another_provider_is_recognised_by_its_headers() {
    let (stripe, shopify) = (
        catalogue::get("stripe").unwrap(),
        catalogue::get("shopify").unwrap(),
    );
    let delivery = sign(shopify, "secret", BODY);
    let mistake = diagnosis(&verifier(stripe, "whsec_1"), &delivery);
    assert_eq!(
        mistake,
        Some(Mistake::OtherProvider {
            provider: "shopify".to_owned()
        })
    );
}

#[test]
fn a_delivery_that_is_accepted_has_no_mistake_and_a_large_body_is_not_looked_into() {
    let stripe = catalogue::get("stripe").unwrap();
    let delivery = sign(stripe, "whsec_1", BODY);
    assert_eq!(diagnosis(&verifier(stripe, "whsec_1"), &delivery), None);
    let large = " ".repeat(hapax_verify::limits::DIAGNOSIS_BODY_BYTES_MAX + 1) + "\n";
    assert_eq!(changed(stripe, &large, large.trim_end_matches('\n')), None);
    let fitting = &large[2..];
    assert_eq!(
        changed(stripe, fitting, fitting.trim_end_matches('\n')),
        Some(Mistake::Body(BodyChange::LastLineBreakCut))
    );
}
