//! `traceparent` (W3C Trace Context): the sender's own where it is valid, else one made from the event's id, so that
//! every attempt of an event is in one trace.

use hapax_core::Leased;

/// A header for an event that came without a usable one.
pub(super) fn parent_of(delivery: &Leased) -> String {
    let trace = hex::encode(delivery.event.id.as_bytes());
    // One span for each attempt. The key's bytes make it differ between destinations.
    let mut span = [0; 8];
    span.copy_from_slice(&delivery.idempotency_key.as_bytes()[..8]);
    let span = (u64::from_be_bytes(span) ^ u64::from(delivery.attempt)).max(1);
    format!("00-{trace}-{span:016x}-01")
}

/// Whether a sender's header can be passed on.
pub(super) fn is_valid(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'-');
    let (Some(version), Some(trace), Some(span), Some(flags)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_hex = |part: &[u8], digits| {
        part.len() == digits && part.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_zero = |part: &[u8]| part.iter().all(|byte| *byte == b'0');
    let no_more = parts.next().is_none() || version != b"00";
    is_hex(version, 2)
        && version != b"ff"
        && is_hex(trace, 32)
        && !is_zero(trace)
        && is_hex(span, 16)
        && !is_zero(span)
        && is_hex(flags, 2)
        && no_more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_and_true_parent_is_passed_on() {
        let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(is_valid(valid.as_bytes()));
        assert!(is_valid(
            b"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"
        ));
        for invalid in [
            "",
            "00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        ] {
            assert!(!is_valid(invalid.as_bytes()), "{invalid}");
        }
    }
}
