//! Names, keys and hashes: the same bytes in every language.

use hapax::Invalid;
use hapax::outbox;
use hapax_core::{BodyHash, Generation, Identity};

use crate::Error;

/// The names that can be checked.
const NAMES: [&str; 3] = ["source", "event id", "consumer"];

/// Checks a source, an event id or a consumer.
pub fn check_name(what: &str, text: String) -> Result<(), Error> {
    let Some(what) = NAMES.into_iter().find(|name| *name == what) else {
        return Err(Error::invalid(format!(
            "`{what}` is not a kind of name; write one of: {}",
            NAMES.join(", ")
        )));
    };
    Ok(Invalid::check(what, text).map(drop)?)
}

/// The idempotency key of an event for a destination.
pub fn idempotency_key(scope: &str, event_id: &str, generation: u32, destination: &str) -> String {
    Identity::new(scope, event_id)
        .idempotency_key(Generation(generation), &destination.into())
        .to_string()
}

/// The key of the call with this number in a run of `consumer`.
pub fn call_key(scope: &str, event_id: &str, generation: u32, consumer: &str, number: u32) -> String {
    let identity = Identity::new(scope, event_id);
    outbox::call_key(&identity, Generation(generation), consumer, number)
}

/// The hash of a raw body.
pub fn body_hash(body: &[u8]) -> [u8; 32] {
    *BodyHash::of(body).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_key_is_the_one_of_the_rust_library() {
        assert_eq!(
            call_key("stripe", "evt_1", 0, "billing", 0),
            "ec70b73778ee29e4d6dde62ff9b0220a"
        );
        assert_eq!(
            call_key("stripe", "evt_1", 0, "billing", 0),
            idempotency_key("stripe", "evt_1", 0, "outbox:billing:0")
        );
    }

    #[test]
    fn a_name_is_checked_as_what_it_is() {
        assert_eq!(check_name("consumer", "billing".to_owned()), Ok(()));
        let empty = check_name("event id", String::new()).unwrap_err();
        assert!(empty.message.contains("the event id is empty"), "{empty}");
        assert!(check_name("customer", "billing".to_owned()).is_err());
    }
}
