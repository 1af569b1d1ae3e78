//! What the gateway says about a delivery that it passes on.

use hapax_core::percent;
use http::HeaderMap;

/// The gateway's own headers of a delivery. Its signature covers only the idempotency key and the body; the other headers
/// are for logs and for people, and never decide whether an event is new.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViaHapax {
    /// The key of this event at this destination, the same in every attempt: the signed `webhook-id`.
    pub idempotency_key: String,
    /// The gateway's source.
    pub source: Option<String>,
    /// The provider's id of the event.
    pub event_id: Option<String>,
    /// The provider's event type.
    pub event_type: Option<String>,
    /// Which attempt this is, counted from 1.
    pub attempt: Option<u32>,
    /// When the event arrived at the gateway, in RFC 3339.
    pub received_at: Option<String>,
}

/// The `idempotency-key` is not the signed `webhook-id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeysDiffer;

impl ViaHapax {
    /// Reads the headers of a request whose signature is valid.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, KeysDiffer> {
        let idempotency_key = text(headers, "webhook-id").ok_or(KeysDiffer)?;
        let is_same = |value: &http::HeaderValue| {
            let value = unquoted(value.to_str().unwrap_or_default());
            value == idempotency_key || percent::decode(&value).is_ok_and(|value| value == idempotency_key)
        };
        if !headers.get_all("idempotency-key").iter().all(is_same) {
            return Err(KeysDiffer);
        }
        Ok(Self {
            source: text(headers, "hapax-source"),
            event_id: text(headers, "hapax-event-id"),
            event_type: text(headers, "hapax-event-type"),
            attempt: text(headers, "hapax-attempt").and_then(|attempt| attempt.parse().ok()),
            received_at: text(headers, "hapax-received-at"),
            idempotency_key,
        })
    }
}

/// The value of a header, in which the gateway percent-encodes what a header cannot carry.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(percent::decode(value).unwrap_or_else(|_| value.to_owned()))
}

/// The content of a structured-field string (RFC 9651), as `idempotency_key = "quoted"` sends it.
fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else {
        return value.to_owned();
    };
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next()),
            plain => text.push(plain),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn the_key_is_the_same_in_every_form_that_the_gateway_writes() {
        for (signed, sent) in [
            ("8e03", "8e03"),
            ("8e03", "\"8e03\""),
            ("a%2E1", "a.1"),
            ("say \"hi\" \\", "\"say \\\"hi\\\" \\\\\""),
            ("100%25", "100%"),
            ("%C3%A9", "%C3%A9"),
        ] {
            let list = headers(&[("webhook-id", signed), ("idempotency-key", sent)]);
            assert!(ViaHapax::of(&list).is_ok(), "{signed} {sent}");
        }
        for (signed, sent) in [("8e03", "8e04"), ("8e03", ""), ("8e03", "\"8e03"), ("a", "A")] {
            let list = headers(&[("webhook-id", signed), ("idempotency-key", sent)]);
            assert_eq!(ViaHapax::of(&list), Err(KeysDiffer), "{signed} {sent}");
        }
    }

    #[test]
    fn a_second_key_that_differs_is_noticed() {
        let mut list = headers(&[("webhook-id", "8e03"), ("idempotency-key", "8e03")]);
        list.append("idempotency-key", "8e04".parse().unwrap());
        assert_eq!(ViaHapax::of(&list), Err(KeysDiffer));
    }

    #[test]
    fn ids_are_decoded_and_absent_headers_are_absent() {
        let list = headers(&[
            ("webhook-id", "8e03"),
            ("hapax-event-id", "%C3%A9vt"),
            ("hapax-attempt", "3"),
        ]);
        let via = ViaHapax::of(&list).unwrap();
        assert_eq!(via.event_id.as_deref(), Some("évt"));
        assert_eq!((via.attempt, via.source), (Some(3), None));
    }
}
