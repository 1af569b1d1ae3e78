//! The messages that a receiver got.

use std::time::{SystemTime, UNIX_EPOCH};

use hapax_verify::{Options, Request, Verification, Verifier, catalogue};
use serde_json::Value;

use hapax_testkit::{Received, Sink};

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw==";

/// A receiver with Standard Webhooks.
pub(super) fn receiver(name: &str, sink: &Sink) -> String {
    format!(
        "[alerts.receivers.{name}]\nkind = \"webhook\"\nurl = \"{}\"\nsecret = \"{SECRET}\"\ntimeout = \"5s\"\n",
        sink.url().replace("/hook", "/services/hunter2")
    )
}

/// The types of all messages, in order of arrival.
pub(super) fn told(sink: &Sink) -> Vec<String> {
    let text = |one: &Received| document(one)["type"].as_str().unwrap().to_owned();
    sink.received().iter().map(text).collect()
}

pub(super) fn summaries(sink: &Sink) -> Vec<String> {
    let text = |one: &Received| document(one)["data"]["summary"].as_str().unwrap().to_owned();
    sink.received().iter().map(text).collect()
}

/// A receiver that checks signatures accepts it, as the event that its id names.
pub(super) fn assert_signed(received: &Received) {
    let standard = catalogue::get("standard-webhooks").unwrap();
    let verifier = Verifier::new(&standard.recipe(), &[SECRET], &Options::default()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let request = Request::new(&received.headers, &received.body, i64::try_from(now).unwrap());
    let verification = verifier.verify(&request).expect("the signature verifies");
    let Verification::Events(events) = verification else {
        panic!("{verification:?}");
    };
    assert_eq!(events.len(), 1);
    assert_eq!(
        document(received)["data"]["id"],
        received.header("webhook-id").unwrap()
    );
}

fn document(received: &Received) -> Value {
    serde_json::from_slice(&received.body).unwrap()
}
