//! The guarantees of each preset's class, tested with its own sample: a genuine retry is the same event, and another
//! event of the same object in the same second is a different one. Cases of specific providers follow below.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::identity::Changing;
use hapax_verify::sign::{Delivery, ProviderSigner, SecretPair, generate_secret};
use hapax_verify::{
    Envelope, EventBody, IdClass, Identification, OnConflict, Request, Split, Verification, Verifier, sample,
};
use serde_json::{Value, json};

const NOW: i64 = 1_767_225_600;
const LATER: i64 = NOW + 60;

/// The signed time of these belongs to the event and is inside the body: a retry repeats it.
const SIGNED_ONCE: [&str; 2] = ["aws-sns", "pusher"];

/// A provider, and the source that it delivers to.
struct Sender {
    provider: &'static Provider,
    secret: SecretPair,
    verifier: Verifier,
}

/// An event as the ledger sees it.
#[derive(Debug)]
struct Seen {
    envelope: Envelope,
    body: Vec<u8>,
}

impl Sender {
    fn new(name: &str) -> Self {
        let provider = catalogue::get(name).unwrap();
        let secret = generate_secret(provider, &[5; 32]);
        let options = provider.sample_options();
        Sender {
            provider,
            verifier: Verifier::new(&provider.recipe(), &[&secret.verifying], &options).unwrap(),
            secret,
        }
    }

    /// The preset's sample, with this body instead of its own.
    fn sample(&self, id: &str, body: Option<&str>) -> Delivery {
        let mut delivery = sample::of_provider(self.provider, id).delivery(NOW);
        "https://hooks.example.com/in".clone_into(&mut delivery.url);
        if let Some(body) = body {
            delivery.body = body.as_bytes().to_vec();
        }
        delivery
    }

    /// Signs a delivery as the provider would at this time, and verifies it.
    fn send(&self, delivery: &Delivery, at: i64) -> Vec<Seen> {
        let options = self.provider.sample_options();
        let signer = ProviderSigner::new(self.provider, &self.secret.signing, &options).unwrap();
        self.receive(&signer.sign(Delivery {
            timestamp: at,
            ..delivery.clone()
        }))
    }

    fn receive(&self, delivery: &Delivery) -> Vec<Seen> {
        let request = Request::new(&delivery.headers, &delivery.body, delivery.timestamp).url(&delivery.url);
        let Verification::Events(envelopes) = self.verifier.verify(&request).unwrap() else {
            panic!("{}: no events", self.provider.name)
        };
        let seen = |envelope: Envelope| Seen {
            body: match &envelope.body {
                EventBody::Whole => delivery.body.clone(),
                EventBody::Part(range) => delivery.body[range.clone()].to_vec(),
                EventBody::Pieces(ranges) => {
                    let pieces = ranges.iter().map(|range| &delivery.body[range.clone()]);
                    pieces.collect::<Vec<_>>().concat()
                }
            },
            envelope,
        };
        envelopes.into_iter().map(seen).collect()
    }

    /// The only event of a sample with this body.
    fn event(&self, body: &str) -> Seen {
        let mut events = self.send(&self.sample("id-1", Some(body)), NOW);
        assert_eq!(events.len(), 1, "{}", self.provider.name);
        events.remove(0)
    }
}

impl Seen {
    fn id(&self) -> &str {
        &self.envelope.event_id
    }

    /// Whether the ledger treats it as a duplicate of the other.
    fn is_duplicate_of(&self, first: &Seen) -> bool {
        let content = self.envelope.content_hash.as_ref();
        self.envelope.identification == Identification::ByProvider
            && self.id() == first.id()
            && (self.body == first.body
                || content.is_some() && content == first.envelope.content_hash.as_ref())
    }

    /// Whether the ledger treats it as a different event: a different id, or different content if that is sufficient.
    fn is_another_than(&self, first: &Seen, on_conflict: OnConflict) -> bool {
        self.envelope.identification == Identification::Never
            || self.id() != first.id()
            || on_conflict == OnConflict::Accept && !self.is_duplicate_of(first)
    }
}

/// The body with different content in the object that has the id, and everything else unchanged.
fn with_other_content(body: &str, id: &str) -> String {
    if let Some(end) = body.rfind("</subject>") {
        return format!("{}<other>1</other>{}", &body[..end], &body[end..]);
    }
    let Some(first) = body.find('{') else {
        return format!("{body}&Other=1");
    };
    let near = body.find(&format!("\"{id}\"")).unwrap_or(first + 1);
    let mut depth = 0;
    for (at, character) in body[..near].char_indices().rev() {
        match character {
            '}' => depth += 1,
            '{' if depth == 0 => return format!("{}{{\"other\":1,{}", &body[..at], &body[at + 1..]),
            '{' => depth -= 1,
            _ => {}
        }
    }
    panic!("{body}")
}

/// The body of the next attempt: every value that changes according to the preset is different.
fn with_changed_values(provider: &Provider, body: &str) -> String {
    let Ok(mut document) = serde_json::from_str::<Value>(body) else {
        return body.to_owned();
    };
    // The changing values are inside the event: for a request with several, inside the first.
    let first = match &provider.identity.split {
        Some(Split::Array { at, .. }) => format!("{at}/0"),
        Some(Split::Nested(_)) | None => String::new(),
    };
    let item = match document.pointer(&first) {
        Some(_) => document.pointer_mut(&first).unwrap(),
        None => &mut document,
    };
    for changing in &provider.identity.changing {
        let Changing::Json(pointer) = changing else {
            continue;
        };
        if let Some(value) = item.pointer_mut(&pointer.to_string()) {
            match value {
                Value::Number(number) => *value = json!(number.as_u64().unwrap() + 1),
                Value::Bool(flag) => *flag = !*flag,
                Value::Object(members) => {
                    members.insert("of".to_owned(), json!("the retry"));
                }
                Value::String(_) | Value::Array(_) | Value::Null => *value = json!("of the retry"),
            }
        }
    }
    document.to_string()
}

/// As `serde_json` writes it, so that changed documents differ only in the changed values.
fn rewritten(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(document) => document.to_string(),
        Err(_) => String::from_utf8(body.to_vec()).unwrap(),
    }
}

/// The guarantees of a preset's class that its identity does not keep.
fn broken_promises(provider: &'static Provider) -> Vec<String> {
    let sender = Sender::new(&provider.name);
    let rule = &provider.identity;
    let unsigned = sender.sample("id-1", None);
    let body = rewritten(&unsigned.body);
    let first = &sender.send(&sender.sample("id-1", Some(&body)), NOW)[0];

    let later = if SIGNED_ONCE.contains(&&*provider.name) {
        NOW
    } else {
        LATER
    };
    let retried = sender.sample("id-1", Some(&with_changed_values(provider, &body)));
    let retry = &sender.send(&retried, later)[0];
    let other_content = with_other_content(&body, "id-1");
    let other_content = &sender.send(&sender.sample("id-1", Some(&other_content)), NOW)[0];
    let other_id = &sender.send(&sender.sample("id-2", None), NOW)[0];

    let mut broken = Vec::new();
    let mut promise = |holds: bool, what: &str| {
        if !holds {
            broken.push(format!("{} ({}): {what}", provider.name, rule.class));
        }
    };
    match rule.class {
        IdClass::OwnId => {
            promise(retry.is_duplicate_of(first), "a retry is not the same event");
            promise(other_id.id() != first.id(), "another event has the same id");
            promise(
                !other_content.is_duplicate_of(first),
                "other content under one id is treated as a duplicate",
            );
        }
        IdClass::Content => {
            promise(retry.is_duplicate_of(first), "a retry is not the same event");
            promise(
                other_content.id() != first.id(),
                "the same object in the same second with other content has the same id",
            );
        }
        IdClass::NotDeduplicated => {
            let all = [first, retry, other_content, other_id];
            promise(
                all.iter().all(|seen| {
                    seen.envelope.identification == Identification::Never && seen.id().is_empty()
                }),
                "an event has an id",
            );
        }
    }
    broken
}

#[test]
fn every_identity_holds_what_its_class_promises() {
    assert_eq!(catalogue::all().len(), 60);
    let broken: Vec<String> = catalogue::all().iter().flat_map(broken_promises).collect();
    assert_eq!(broken, Vec::<String>::new());
}

/// Two different events of a provider that an earlier rule treated as one.
fn assert_two_events(name: &str, bodies: [&str; 2]) {
    let sender = Sender::new(name);
    let [first, second] = bodies.map(|body| sender.event(body));
    let on_conflict = sender.provider.identity.on_conflict;
    assert!(
        second.is_another_than(&first, on_conflict),
        "{name}: {first:?} {second:?}"
    );
    let retry = sender.event(bodies[1]);
    assert!(
        retry.is_duplicate_of(&second) || second.envelope.identification == Identification::Never,
        "{name}: {retry:?}"
    );
}

#[test]
fn an_update_of_plaid_that_repeats_byte_for_byte_is_another_event() {
    let body = r#"{"webhook_type":"TRANSACTIONS","webhook_code":"SYNC_UPDATES_AVAILABLE","item_id":"i","environment":"production"}"#;
    assert_two_events("plaid", [body, body]);
}

/// Kinds whose subject has no `id`, as the provider's own library creates samples of them: all share a second.
#[test]
fn kinds_of_braintree_without_a_subject_id_are_told_apart_within_a_second() {
    let notification = |kind: &str, subject: &str| {
        format!(
            "<notification><timestamp type=\"datetime\">2026-01-01T00:00:00Z</timestamp><kind>{kind}</kind>\
             <subject>{subject}</subject></notification>"
        )
    };
    let subjects = [
        (
            "check",
            [
                "<check type=\"boolean\">true</check>",
                "<check type=\"boolean\">false</check>",
            ],
        ),
        (
            "connected_merchant_status_transitioned",
            [
                "<connected-merchant-status-transitioned><merchant-public-id>a</merchant-public-id></connected-merchant-status-transitioned>",
                "<connected-merchant-status-transitioned><merchant-public-id>b</merchant-public-id></connected-merchant-status-transitioned>",
            ],
        ),
        (
            "oauth_access_revoked",
            [
                "<oauth-application-revocation><merchant-id>a</merchant-id></oauth-application-revocation>",
                "<oauth-application-revocation><merchant-id>b</merchant-id></oauth-application-revocation>",
            ],
        ),
        (
            "account_updater_daily_report",
            [
                "<account-updater-daily-report><report-url>a</report-url></account-updater-daily-report>",
                "<account-updater-daily-report><report-url>b</report-url></account-updater-daily-report>",
            ],
        ),
        (
            "granted_payment_instrument_update",
            [
                "<granted-payment-instrument-update><token>a</token></granted-payment-instrument-update>",
                "<granted-payment-instrument-update><token>b</token></granted-payment-instrument-update>",
            ],
        ),
        (
            "payment_method_revoked_by_customer",
            [
                "<paypal-account><token>a</token></paypal-account>",
                "<paypal-account><token>b</token></paypal-account>",
            ],
        ),
        (
            "disbursement_exception",
            [
                "<disbursement><id>1</id><amount>10</amount></disbursement>",
                "<disbursement><id>1</id><amount>20</amount></disbursement>",
            ],
        ),
    ];
    for (kind, pair) in subjects {
        let [one, two] = pair.map(|subject| notification(kind, subject));
        assert_two_events("braintree", [&one, &two]);
    }
}

#[test]
fn two_followers_and_two_custom_fields_of_asana_are_two_events() {
    let event = |change: &str| {
        format!(
            r#"{{"events":[{{"user":{{"gid":"1"}},"created_at":"2026-01-01T00:00:00.000Z","action":"changed","resource":{{"gid":"7","resource_type":"task"}},"parent":null,"change":{change}}}]}}"#
        )
    };
    let follower = |gid: &str| {
        event(&format!(
            r#"{{"field":"followers","action":"added","added_value":{{"gid":"{gid}"}}}}"#
        ))
    };
    assert_two_events("asana", [&follower("1"), &follower("2")]);
    let field = |gid: &str| {
        event(&format!(
            r#"{{"field":"custom_fields","action":"changed","new_value":{{"gid":"{gid}"}}}}"#
        ))
    };
    assert_two_events("asana", [&field("1"), &field("2")]);
}

#[test]
fn two_participants_and_two_calls_of_zoom_are_two_events() {
    let left = |user: &str| {
        format!(
            r#"{{"event":"meeting.participant_left","event_ts":1767225598800,"payload":{{"account_id":"A","object":{{"id":"1","uuid":"u==","participant":{{"user_id":"{user}"}}}}}}}}"#
        )
    };
    assert_two_events("zoom", [&left("1"), &left("2")]);
    let call = |id: &str| {
        format!(
            r#"{{"event":"phone.callee_ended","event_ts":1767225598800,"payload":{{"account_id":"A","object":{{"call_id":"{id}"}}}}}}"#
        )
    };
    assert_two_events("zoom", [&call("1"), &call("2")]);
}

#[test]
fn a_recording_of_zoom_that_comes_again_with_a_new_token_is_the_same_event() {
    let sender = Sender::new("zoom");
    let completed = |token: &str| {
        sender.event(&format!(
            r#"{{"event":"recording.completed","event_ts":1767225598800,"payload":{{"object":{{"uuid":"u"}}}},"download_token":"{token}"}}"#
        ))
    };
    assert!(completed("b").is_duplicate_of(&completed("a")));
}

#[test]
fn changes_within_one_second_are_two_events() {
    let order =
        |status: &str| format!(r#"{{"id":7,"status":"{status}","date_modified_gmt":"2026-01-01T00:00:00"}}"#);
    assert_two_events("woocommerce", [&order("processing"), &order("completed")]);
    let subscription = |status: &str| {
        format!(
            r#"{{"meta":{{"event_name":"subscription_updated"}},"data":{{"type":"subscriptions","id":"1","attributes":{{"status":"{status}","updated_at":"2026-01-01T00:00:00.000000Z"}}}}}}"#
        )
    };
    assert_two_events(
        "lemonsqueezy",
        [&subscription("active"), &subscription("past_due")],
    );
    let click = |link: &str| {
        format!(
            r#"{{"RecordType":"Click","MessageID":"m","ReceivedAt":"2026-01-01T00:00:00Z","OriginalLink":"{link}"}}"#
        )
    };
    assert_two_events(
        "postmark",
        [&click("https://a.example"), &click("https://b.example")],
    );
    let signed = |recipient: &str| {
        format!(
            r#"{{"event":"recipient-completed","retryCount":0,"generatedDateTime":"2026-01-01T00:00:00.0000000Z","data":{{"envelopeId":"e","recipientId":"{recipient}"}}}}"#
        )
    };
    assert_two_events("docusign", [&signed("1"), &signed("2")]);
}

#[test]
fn a_retry_of_mailgun_is_a_duplicate_and_no_conflict() {
    let sender = Sender::new("mailgun");
    let delivery = sender.sample("id-1", None);
    let [first, retry] = [NOW, LATER].map(|at| sender.send(&delivery, at).remove(0));
    assert_ne!(retry.body, first.body);
    assert!(retry.is_duplicate_of(&first));
}

/// A forwarded message arrives as a form that contains the signature.
#[test]
fn a_retry_of_a_forwarded_message_of_mailgun_is_a_duplicate() {
    let sender = Sender::new("mailgun");
    let forwarded = |at: i64, text: &str| {
        let signed = sender
            .send(&sender.sample(&format!("token-{at}"), None), at)
            .remove(0);
        let document: Value = serde_json::from_slice(&signed.body).unwrap();
        let part = |name: &str| document["signature"][name].as_str().unwrap().to_owned();
        let body = form_urlencoded::Serializer::new(String::new())
            .append_pair("recipient", "in@shop.example")
            .append_pair("sender", "ada@example.com")
            .append_pair("Message-Id", "<1@example.com>")
            .append_pair("timestamp", &part("timestamp"))
            .append_pair("token", &part("token"))
            .append_pair("signature", &part("signature"))
            .append_pair("body-plain", text)
            .finish();
        let delivery = Delivery {
            timestamp: at,
            headers: vec![(
                "content-type".to_owned(),
                "application/x-www-form-urlencoded".to_owned(),
            )],
            body: body.into_bytes(),
            ..Delivery::default()
        };
        sender.receive(&delivery).remove(0)
    };
    let first = forwarded(NOW, "hello");
    let retry = forwarded(LATER, "hello");
    assert_eq!(retry.id(), "<1@example.com>:ada@example.com:in@shop.example");
    assert!(retry.is_duplicate_of(&first));
    assert_ne!(retry.envelope.earlier_id, first.envelope.earlier_id);
    assert!(!forwarded(LATER, "other").is_duplicate_of(&first));
}

#[test]
fn an_issue_of_sentry_that_is_assigned_again_is_another_event() {
    let body = r#"{"action":"assigned","installation":{"uuid":"u"},"data":{"issue":{"id":"1","assignedTo":{"id":"2"}}}}"#;
    assert_two_events("sentry", [body, body]);
}

#[test]
fn one_id_of_two_sources_of_cloud_events_is_two_events() {
    let event = |source: &str| format!(r#"{{"specversion":"1.0","id":"1","source":"{source}","type":"t"}}"#);
    assert_two_events("cloudevents", [&event("/a"), &event("/b")]);
    let event = |topic: &str| format!(r#"[{{"id":"1","topic":"{topic}","eventType":"t"}}]"#);
    assert_two_events("azure-event-grid", [&event("/a"), &event("/b")]);
}

/// Trello renders the model again for every attempt.
#[test]
fn an_action_of_trello_is_one_event_for_each_model_whatever_became_of_the_model() {
    let sender = Sender::new("trello");
    let reported = |model: &str, name: &str| {
        sender.event(&format!(
            r#"{{"action":{{"id":"a","type":"updateCard"}},"model":{{"id":"{model}","name":"{name}"}}}}"#
        ))
    };
    let first = reported("board", "before");
    assert!(reported("board", "after").is_duplicate_of(&first));
    assert_ne!(reported("card", "before").id(), first.id());
}

#[test]
fn ids_that_are_known_to_repeat_are_told_apart_by_content() {
    let event = |value: &str| {
        format!(
            r#"[{{"eventId":1,"subscriptionId":2,"objectId":3,"attemptNumber":0,"occurredAt":{value},"subscriptionType":"contact.propertyChange"}}]"#
        )
    };
    assert_two_events("hubspot", [&event("1"), &event("2")]);
    let message = |rest: &str| {
        format!(
            r#"{{"object":"instagram","entry":[{{"id":"e","time":1,"messaging":[{{"timestamp":1,"message":{{"mid":"m",{rest}}}}}]}}]}}"#
        )
    };
    assert_two_events(
        "meta",
        [&message(r#""text":"x""#), &message(r#""is_deleted":true"#)],
    );
}

#[test]
fn an_event_carries_the_id_that_the_version_before_gave_it() {
    let sender = Sender::new("docusign");
    let seen = sender.send(&sender.sample("e-1", None), NOW).remove(0);
    let earlier = "e-1:envelope-completed:2026-01-01T00%3A00%3A00.0000000Z";
    assert_eq!(seen.envelope.earlier_id.as_deref(), Some(earlier));
    assert!(seen.id().starts_with(earlier) && seen.id().len() == earlier.len() + 65);
    assert_eq!(sender.verifier.identity().version, 2);
    for name in ["plaid", "woocommerce", "stripe", "mailgun"] {
        let sender = Sender::new(name);
        let seen = sender.send(&sender.sample("1", None), NOW).remove(0);
        assert_eq!(seen.envelope.earlier_id, None, "{name}");
    }
}
