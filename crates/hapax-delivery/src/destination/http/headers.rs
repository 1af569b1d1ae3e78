//! The headers of an attempt: the provider's, without those of its own connection, and ours.
//!
//! No header from the provider may mislead software that reads the request at the destination. A header that a library
//! or framework there would mistake for ours, or for the truth about our connection, is renamed to `hapax-original-…`:
//! a header that ours replaces, one that a library would check instead of our signature, one written by proxies between
//! the provider and us, and anything under `hapax-…`, which is reserved for us.

use hapax_core::Leased;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::super::BatchHeaders;
use crate::outbox::{KEY_HEADER, TARGET_HEADER, is_outbox, key_of};
use crate::percent::{header_value, quoted};
use hapax_config::KeyForm;
use hapax_telemetry::traces::context::{self, Parent, Propagation};

/// The prefix under which the provider's header is kept if ours replaces it.
const ORIGINAL_PREFIX: &str = "hapax-original-";
/// The prefix of our own headers.
const OUR_PREFIX: &str = "hapax-";

const TRACEPARENT: HeaderName = HeaderName::from_static(context::TRACEPARENT);
const TRACESTATE: HeaderName = HeaderName::from_static(context::TRACESTATE);

/// Never forwarded: they describe the provider's connection or are meant for us alone. `accept-encoding` is among them
/// because we read the response, and we do not decode it.
const NOT_PASSED_ON: [&str; 13] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that frameworks trust about the connection or the request: its client address, its URL and its method. None
/// of them is true of our request, and anyone who sends a webhook can set them.
const OF_THE_WAY: [&str; 7] = [
    "forwarded",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
];
const FORWARDED_PREFIX: &str = "x-forwarded-";

/// The names that Svix's libraries look for first, and our names, which they look for otherwise: next to the provider's
/// `svix-*` they would ignore our `webhook-*` and refuse the request.
const SVIX_PREFIX: &str = "svix-";
const STANDARD_PREFIX: &str = "webhook-";

/// A provider's credentials; an outbox row may carry its own to its target.
const CREDENTIALS: [&str; 2] = ["authorization", "cookie"];

/// Builds the headers. `source` knows which of its headers must not reach a destination; `signature` is ours.
pub(super) fn build(
    delivery: &Leased,
    propagation: Propagation,
    key_form: KeyForm,
    source: Option<&BatchHeaders>,
    signature: Vec<(String, String)>,
) -> HeaderMap {
    let event = &delivery.event;
    let batch = source.filter(|_| event.batch.is_some());
    let mut ours = HeaderMap::with_capacity(16);
    for (name, value) in signature {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            ours.insert(name, value);
        }
    }
    let mut put = |name: &'static str, value: HeaderValue| {
        ours.insert(HeaderName::from_static(name), value);
    };
    let key = key_of(delivery);
    put(
        "idempotency-key",
        match key_form {
            KeyForm::Plain => header_value(&key),
            KeyForm::Quoted => quoted(&key),
        },
    );
    put("hapax-source", header_value(event.source.as_str()));
    put("hapax-event-id", header_value(&event.identity.event_id));
    if let Some(event_type) = &event.event_type {
        put("hapax-event-type", header_value(event_type));
    }
    put("hapax-attempt", HeaderValue::from(delivery.attempt));
    put("hapax-received-at", header_value(&event.received_at.to_string()));
    if let Some((batch, index)) = event.batch {
        put("hapax-batch-id", header_value(&batch.to_string()));
        put("hapax-batch-index", HeaderValue::from(index));
    }
    if let Some(content_type) = batch.and_then(|batch| batch.event_content_type.as_deref()) {
        ours.insert(CONTENT_TYPE, header_value(content_type));
    }
    if let Some(parent) = propagation.parent(delivery) {
        ours.insert(TRACEPARENT, header_value(&parent.to_string()));
    }
    let has_parent = Parent::of(&event.headers).is_some();
    let mut all = HeaderMap::with_capacity(32);
    for (name, value) in event.headers.iter() {
        let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value)) else {
            continue;
        };
        let is_credential = source.is_some_and(|source| source.is_credential(name.as_str()));
        if is_credential || is_left_out(&name, delivery, batch) {
            continue;
        }
        // A tracestate belongs to its traceparent: next to another one it would be wrong.
        let is_of_no_parent = name == TRACESTATE && !has_parent;
        if is_replaced(&name, &ours) || is_of_no_parent || misleads(&name, delivery) {
            if let Ok(original) = HeaderName::try_from(format!("{ORIGINAL_PREFIX}{name}")) {
                all.append(original, value);
            }
        } else {
            all.append(name, value);
        }
    }
    all.extend(ours);
    all
}

/// Whether one of ours replaces it, under the same name or under one that a library treats as equivalent.
fn is_replaced(name: &HeaderName, ours: &HeaderMap) -> bool {
    let standard = name.as_str().strip_prefix(SVIX_PREFIX);
    ours.contains_key(name)
        || standard.is_some_and(|rest| ours.contains_key(format!("{STANDARD_PREFIX}{rest}")))
}

/// Whether it would be mistaken for ours, or for the truth about our connection.
fn misleads(name: &HeaderName, delivery: &Leased) -> bool {
    let text = name.as_str();
    // An application that writes to its own outbox means these for the target.
    let is_of_the_way = OF_THE_WAY.contains(&text) || text.starts_with(FORWARDED_PREFIX);
    text.starts_with(OUR_PREFIX) || (is_of_the_way && !is_outbox(&delivery.event.source))
}

fn is_left_out(name: &HeaderName, delivery: &Leased, batch: Option<&BatchHeaders>) -> bool {
    let text = name.as_str();
    // An application that writes to its own outbox means these for the target.
    let is_meant = is_outbox(&delivery.event.source) && CREDENTIALS.contains(&text);
    (NOT_PASSED_ON.contains(&text) && !is_meant)
        || text == TARGET_HEADER
        || text == KEY_HEADER
        || text.starts_with("proxy-")
        || batch.is_some_and(|batch| batch.proves_whole(text))
        || is_named_by_connection(text, delivery)
}

/// `Connection: x-internal` makes `x-internal` hop-by-hop.
fn is_named_by_connection(name: &str, delivery: &Leased) -> bool {
    let connections = delivery
        .event
        .headers
        .iter()
        .filter(|(header, _)| header.eq_ignore_ascii_case(CONNECTION.as_str()));
    connections
        .flat_map(|(_, value)| value.split(|byte| *byte == b','))
        .any(|named| named.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use hapax_core::{
        BodyHash, EventIds, Generation, Headers, Identity, StoredEvent, SystemRandom, Timestamp, Token,
    };

    use KeyForm::{Plain, Quoted};
    use Propagation::PassOn;
    use hapax_verify::{Options, Request, Verification, Verifier, catalogue};

    use super::*;
    use hapax_telemetry::traces::context::Sampler;

    fn delivery(headers: &[(&str, &[u8])]) -> Leased {
        let identity = Identity::new("stripe", "évt");
        let now = Timestamp::from_seconds(1_767_225_600);
        let id = EventIds::default().next(now, identity.key(), &SystemRandom::new());
        Leased {
            idempotency_key: identity.idempotency_key(Generation(0), &"billing".into()),
            event: StoredEvent {
                id,
                identity,
                source: "stripe".into(),
                event_type: Some("invoice.paid".to_owned()),
                received_at: now,
                signed_at: None,
                secret_index: None,
                raw_hash: BodyHash::of(b"{}"),
                headers: Headers::pack(headers.iter().copied()),
                body: Bytes::from_static(b"{}"),
                batch: None,
            },
            destination: "billing".into(),
            token: Token(1),
            lease_until: now,
            generation: Generation(0),
            attempt: 3,
            lost: 0,
            lane: None,
        }
    }

    #[test]
    fn ours_are_all_there() {
        let delivery = delivery(&[("Content-Type", b"application/json")]);
        let headers = build(&delivery, PassOn, Plain, None, Vec::new());
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(headers["idempotency-key"], delivery.idempotency_key.to_string());
        assert_eq!(headers["hapax-source"], "stripe");
        assert_eq!(headers["hapax-event-id"], "%C3%A9vt");
        assert_eq!(headers["hapax-event-type"], "invoice.paid");
        assert_eq!(headers["hapax-attempt"], "3");
        assert_eq!(headers["hapax-received-at"], "2026-01-01T00:00:00.000000Z");
        assert!(Parent::parse(headers["traceparent"].as_bytes()).is_some());
    }

    #[test]
    fn what_belongs_to_the_senders_connection_stays_behind() {
        let delivery = delivery(&[
            ("Host", b"hooks.example.com"),
            ("Connection", b"close, X-Hop"),
            ("x-hop", b"1"),
            ("Cookie", b"session=1"),
            ("Authorization", b"Bearer x"),
            ("Proxy-Authorization", b"x"),
            ("Transfer-Encoding", b"chunked"),
            ("Content-Length", b"2"),
            ("Expect", b"100-continue"),
            ("Stripe-Signature", b"t=1,v1=ab"),
            ("X-Many", b"1"),
            ("X-Many", b"\xff2"),
        ]);
        let headers = build(&delivery, PassOn, Plain, None, Vec::new());
        for gone in [
            "host",
            "connection",
            "x-hop",
            "cookie",
            "authorization",
            "proxy-authorization",
            "expect",
        ] {
            assert!(!headers.contains_key(gone), "{gone}");
        }
        assert!(!headers.contains_key("transfer-encoding") && !headers.contains_key("content-length"));
        assert_eq!(headers["stripe-signature"], "t=1,v1=ab");
        let many: Vec<&[u8]> = headers
            .get_all("x-many")
            .iter()
            .map(HeaderValue::as_bytes)
            .collect();
        assert_eq!(many, [&b"1"[..], b"\xff2"]);
    }

    #[test]
    fn a_replaced_header_is_kept_under_another_name_and_ours_cannot_be_forged() {
        let delivery = delivery(&[
            ("Webhook-Id", b"theirs"),
            ("Idempotency-Key", b"theirs"),
            ("hapax-attempt", b"99"),
            ("hapax-batch-id", b"forged"),
            ("traceparent", b"nonsense"),
            ("tracestate", b"a=1"),
        ]);
        let signature = vec![("webhook-id".to_owned(), "ours".to_owned())];
        let headers = build(&delivery, PassOn, Plain, None, signature);
        assert_eq!(headers["webhook-id"], "ours");
        assert_eq!(headers["hapax-original-webhook-id"], "theirs");
        assert_eq!(headers["hapax-original-idempotency-key"], "theirs");
        assert_eq!(headers["hapax-attempt"], "3");
        assert_eq!(headers["hapax-original-hapax-attempt"], "99");
        assert!(!headers.contains_key("hapax-batch-id"));
        assert_eq!(headers["hapax-original-traceparent"], "nonsense");
        assert!(!headers.contains_key("tracestate"));
        let unsigned = build(&delivery, PassOn, Plain, None, Vec::new());
        assert_eq!(unsigned["webhook-id"], "theirs");
    }

    #[test]
    fn an_item_of_a_batch_names_it_and_drops_what_holds_for_the_whole() {
        let mut delivery = delivery(&[
            ("content-type", b"application/cloudevents-batch+json"),
            ("x-line-signature", b"ab"),
            ("content-digest", b"sha-256=:ab:"),
            ("x-other", b"1"),
        ]);
        delivery.event.batch = Some((delivery.event.id, 2));
        let of = |provider: &str| BatchHeaders::of(&catalogue::get(provider).unwrap().recipe());
        let headers = build(&delivery, PassOn, Plain, Some(&of("line")), Vec::new());
        assert!(!headers.contains_key("x-line-signature") && !headers.contains_key("content-digest"));
        assert_eq!(headers["x-other"], "1");
        assert_eq!(headers["hapax-batch-index"], "2");
        assert_eq!(headers["hapax-batch-id"], delivery.event.id.to_string());
        assert_eq!(headers["content-type"], "application/cloudevents-batch+json");

        // The batch's content type is not true of one event.
        let headers = build(&delivery, PassOn, Plain, Some(&of("cloudevents")), Vec::new());
        assert_eq!(headers["content-type"], "application/cloudevents+json");
        assert_eq!(
            headers["hapax-original-content-type"],
            "application/cloudevents-batch+json"
        );
    }

    /// Looks for `svix-*` first and for `webhook-*` otherwise, as Svix's libraries do.
    fn svix_library(secret: &str) -> Verifier {
        let svix = catalogue::get("svix").unwrap();
        Verifier::new(&svix.recipe(), &[secret], &Options::default()).unwrap()
    }

    #[test]
    fn the_svix_library_takes_our_signature_for_senders_that_use_svix_themselves() {
        let secret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiBoZWFkZXJz";
        let delivery = delivery(&[
            ("svix-id", b"msg_1"),
            ("svix-timestamp", b"1767225600"),
            ("svix-signature", b"v1,c2lnbmVkIGJ5IHRoZSBzZW5kZXI="),
            ("svix-other", b"kept"),
        ]);
        let signer = crate::destination::signer("app", secret).unwrap();
        let signature = signer.sign("ours", 1_767_225_700, "POST", "", &delivery.event.body);
        let headers = build(&delivery, PassOn, Plain, None, signature);
        let request = Request::new(&headers, &delivery.event.body, 1_767_225_700);
        let Ok(Verification::Events(events)) = svix_library(secret).verify(&request) else {
            panic!("{headers:?}");
        };
        assert_eq!(events[0].event_id, "ours");
        assert_eq!(headers["hapax-original-svix-id"], "msg_1");
        assert_eq!(headers["svix-other"], "kept");
        // Where we do not sign, the provider's own signature is the only one to check.
        let unsigned = build(&delivery, PassOn, Plain, None, Vec::new());
        assert_eq!(unsigned["svix-id"], "msg_1");
    }

    #[test]
    fn what_is_said_of_the_senders_way_is_not_said_of_ours() {
        let sent: &[(&str, &[u8])] = &[
            ("X-Forwarded-For", b"203.0.113.9"),
            ("X-Forwarded-Host", b"hooks.example.com"),
            ("Forwarded", b"for=203.0.113.9"),
            ("X-HTTP-Method-Override", b"DELETE"),
            ("Accept-Encoding", b"gzip"),
            ("Content-Encoding", b"gzip"),
        ];
        let mut delivery = delivery(sent);
        let headers = build(&delivery, PassOn, Plain, None, Vec::new());
        for (name, value) in &sent[..4] {
            let name = name.to_ascii_lowercase();
            assert!(!headers.contains_key(&name), "{name}");
            assert_eq!(
                headers[format!("hapax-original-{name}")].as_bytes(),
                *value,
                "{name}"
            );
        }
        assert!(!headers.contains_key("accept-encoding"));
        // The body is unchanged, so the headers that say how to decode it are, too.
        assert_eq!(headers["content-encoding"], "gzip");
        delivery.event.source = "outbox.app".into();
        let headers = build(&delivery, PassOn, Plain, None, Vec::new());
        assert_eq!(headers["x-forwarded-for"], "203.0.113.9");
    }

    #[test]
    fn a_key_is_written_as_the_destination_wants_it() {
        let delivery = delivery(&[]);
        let key = delivery.idempotency_key.to_string();
        let written = |form| build(&delivery, PassOn, form, None, Vec::new())["idempotency-key"].clone();
        assert_eq!(written(Plain), key);
        assert_eq!(written(Quoted), format!("\"{key}\""));
    }

    #[test]
    fn a_row_of_an_outbox_keeps_its_own_key_and_its_credentials_and_hides_its_address() {
        let mut delivery = delivery(&[
            ("authorization", b"Bearer x"),
            ("hapax-outbox-target", b"http://example.com/?token=x"),
            ("hapax-outbox-key", b"row 7"),
            ("host", b"elsewhere"),
        ]);
        delivery.event.source = "outbox.app".into();
        delivery.event.identity = Identity::new("outbox.app", "row 7:to-0123456789abcdef");
        let headers = build(&delivery, PassOn, Plain, None, Vec::new());
        assert_eq!(headers["idempotency-key"], "row 7");
        assert!(!headers.contains_key("hapax-outbox-key"));
        assert_eq!(headers["authorization"], "Bearer x");
        assert!(!headers.contains_key("host"));
        assert!(
            headers
                .values()
                .all(|value| !value.as_bytes().ends_with(b"token=x"))
        );
        delivery.generation = Generation(2);
        assert_eq!(
            build(&delivery, PassOn, Plain, None, Vec::new())["idempotency-key"],
            "row 7:2"
        );
    }

    #[test]
    fn a_valid_trace_of_the_sender_goes_on() {
        let parent = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let headers = build(
            &delivery(&[("traceparent", parent), ("tracestate", b"a=1")]),
            PassOn,
            Plain,
            None,
            Vec::new(),
        );
        assert_eq!(headers["traceparent"].as_bytes(), parent);
        assert_eq!(headers["tracestate"], "a=1");
    }

    #[test]
    fn with_spans_of_our_own_the_attempt_is_the_parent_in_the_senders_trace() {
        let parent = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        let delivery = delivery(&[("traceparent", parent), ("tracestate", b"a=1")]);
        let ours = Propagation::FromAttempts(Sampler::keeping(1.0));
        let headers = build(&delivery, ours, Plain, None, Vec::new());
        let passed = Parent::parse(headers["traceparent"].as_bytes()).unwrap();
        let sent = Parent::parse(parent).unwrap();
        assert_eq!((passed.trace, passed.flags), (sent.trace, sent.flags));
        assert_eq!(passed.span, context::attempt_span(&delivery));
        assert_eq!(headers["tracestate"], "a=1");
    }
}
