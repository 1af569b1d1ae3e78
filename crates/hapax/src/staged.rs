//! A call as a row of the outbox, with its origin and its key.

use hapax_core::{Generation, Identity};

use crate::call::{Call, InvalidCall};
use crate::event::Event;

/// The event being handled, and the consumer that handles it.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    identity: Identity,
    generation: Generation,
    consumer: String,
}

impl Origin {
    pub(crate) fn new(consumer: &str, event: &Event) -> Self {
        Self {
            identity: Identity::new(event.source(), event.event_id()),
            generation: event.generation(),
            consumer: consumer.to_owned(),
        }
    }

    fn key(&self, number: u32) -> String {
        call_key(&self.identity, self.generation, &self.consumer, number)
    }
}

/// The key of the call with this number in a run: the idempotency key for a destination `outbox:CONSUMER:NUMBER`, so that
/// any language can compute it. The number comes last and contains no colon, so different pairs never give the same
/// string.
#[doc(hidden)]
pub fn call_key(identity: &Identity, generation: Generation, consumer: &str, number: u32) -> String {
    let destination = format!("outbox:{consumer}:{number}");
    identity
        .idempotency_key(generation, &destination.into())
        .to_string()
}

/// The row to write.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Staged {
    call: Call,
    origin: Option<Origin>,
}

impl Staged {
    pub(crate) fn new(call: Call) -> Self {
        Self { call, origin: None }
    }

    /// Sets the origin: the event being handled, and the number of the call in its run.
    pub(crate) fn from(mut self, origin: &Origin, number: u32) -> Self {
        self.call.key.get_or_insert_with(|| origin.key(number));
        self.origin = Some(origin.clone());
        self
    }

    pub(crate) fn check(&self) -> Result<(), InvalidCall> {
        self.call.check()
    }

    pub(crate) fn consumer(&self) -> Option<&str> {
        self.origin.as_ref().map(|origin| origin.consumer.as_str())
    }

    pub(crate) fn source(&self) -> Option<&str> {
        self.origin.as_ref().map(|origin| origin.identity.scope.as_str())
    }

    pub(crate) fn event_id(&self) -> Option<&str> {
        self.origin
            .as_ref()
            .map(|origin| origin.identity.event_id.as_str())
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.call.kind.as_str()
    }

    pub(crate) fn target(&self) -> &str {
        &self.call.target
    }

    pub(crate) fn headers(&self) -> String {
        self.call.headers_json()
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.call.body
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.call.key.as_deref()
    }

    pub(crate) fn order_key(&self) -> Option<&str> {
        self.call.order_key.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_key_of_a_staged_call_stays_what_it_is() {
        let event = Event::new("stripe", "evt_1").unwrap();
        let origin = Origin::new("billing", &event);
        let documented = Identity::new("stripe", "evt_1");
        let key = |name: &str| {
            documented
                .idempotency_key(Generation(0), &name.into())
                .to_string()
        };
        assert_eq!(origin.key(0), key("outbox:billing:0"));
        assert_ne!(origin.key(0), origin.key(1));
    }

    #[test]
    fn a_key_of_the_callers_own_is_kept() {
        let event = Event::new("stripe", "evt_1").unwrap();
        let origin = Origin::new("billing", &event);
        let staged = Staged::new(Call::http("u").key("mine")).from(&origin, 0);
        assert_eq!(staged.call.key.as_deref(), Some("mine"));
    }
}
