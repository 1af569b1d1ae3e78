//! The trace and spans of an event, derived from the event alone.
//!
//! The trace is the provider's own, if the request had a valid `traceparent` (W3C Trace Context): that header is stored
//! with the event. Otherwise the event's id is also the trace id; both have sixteen bytes. The id of the accept span is
//! derived from the event's id, too, so that another process can name the right parent hours later without any shared
//! state.

use std::fmt;

use hapax_core::{EventId, Headers, Leased};
use opentelemetry::TraceFlags;
use opentelemetry::trace::{SpanId, TraceId};

/// The header that carries a trace.
pub const TRACEPARENT: &str = "traceparent";
/// Vendor-specific additions to it.
pub const TRACESTATE: &str = "tracestate";

/// The parent of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    pub trace: TraceId,
    pub span: SpanId,
    /// Whether the trace is sampled.
    pub flags: TraceFlags,
}

/// How traces are propagated to destinations.
#[derive(Clone, Copy, Debug)]
pub enum Propagation {
    /// No spans are exported: the provider's parent is passed on unchanged, and an event without one is given one.
    PassOn,
    /// Each attempt is the parent.
    FromAttempts(Sampler),
}

/// Decides which traces are sampled, identically in every process.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Traces whose mixed id is at most this are kept; `None` if none are kept.
    most: Option<u64>,
}

impl Parent {
    /// The parent in the headers, if it is valid.
    pub fn of(headers: &Headers) -> Option<Self> {
        Self::parse(headers.get(TRACEPARENT)?)
    }

    /// `00-<trace>-<span>-<flags>`, in lower case, with neither id zero. Later versions may append more.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let mut parts = value.split(|byte| *byte == b'-');
        let version = hex::<1>(parts.next()?)?;
        let trace = TraceId::from_bytes(hex(parts.next()?)?);
        let span = SpanId::from_bytes(hex(parts.next()?)?);
        let flags = TraceFlags::new(hex::<1>(parts.next()?)?[0]);
        let is_whole = parts.next().is_none() || version != [0];
        let is_valid = version != [0xff] && trace != TraceId::INVALID && span != SpanId::INVALID && is_whole;
        is_valid.then_some(Self { trace, span, flags })
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sampled = u8::from(self.flags.is_sampled());
        write!(f, "00-{}-{}-{sampled:02x}", self.trace, self.span)
    }
}

impl Propagation {
    /// The parent that replaces the provider's; `None` if the provider's is passed on.
    pub fn parent(self, delivery: &Leased) -> Option<Parent> {
        let sender = Parent::of(&delivery.event.headers);
        let trace = trace_of(sender, delivery.event.id);
        let flags = match (self, sender) {
            (Self::PassOn, Some(_)) => return None,
            (Self::PassOn, None) => TraceFlags::SAMPLED,
            (Self::FromAttempts(sampler), _) => sampler.flags(sender, trace),
        };
        Some(Parent {
            trace,
            span: attempt_span(delivery),
            flags,
        })
    }
}

impl Sampler {
    /// Keeps this share of the traces that arrive without a sampling decision.
    pub fn keeping(share: f64) -> Self {
        // The rounding is harmless: it affects only the last of 2^64 values.
        let most = (share > 0.0).then_some((share * u64::MAX as f64) as u64);
        Self { most }
    }

    /// The sampling decision: the provider's, if there is one, or else by trace id.
    pub fn flags(self, parent: Option<Parent>, trace: TraceId) -> TraceFlags {
        let is_sampled = match parent {
            Some(parent) => parent.flags.is_sampled(),
            None => self.most.is_some_and(|most| mixed(trace) <= most),
        };
        TraceFlags::default().with_sampled(is_sampled)
    }
}

pub fn trace_of(parent: Option<Parent>, event: EventId) -> TraceId {
    parent.map_or(TraceId::from_bytes(*event.as_bytes()), |parent| parent.trace)
}

/// The span id of an event's accept.
pub fn accept_span(event: EventId) -> SpanId {
    let (high, low) = halves(*event.as_bytes());
    nonzero(high.rotate_left(32) ^ low)
}

/// The span id of an attempt. The key differs between destinations and generations. The token differs between leases,
/// because a replay numbers its attempts from one again.
pub fn attempt_span(delivery: &Leased) -> SpanId {
    let mut key = [0; 8];
    key.copy_from_slice(&delivery.idempotency_key.as_bytes()[..8]);
    let number = u64::from(delivery.attempt);
    nonzero(u64::from_be_bytes(key) ^ number ^ delivery.token.0.rotate_left(16))
}

fn nonzero(id: u64) -> SpanId {
    SpanId::from_bytes(id.max(1).to_be_bytes())
}

fn halves(bytes: [u8; 16]) -> (u64, u64) {
    let whole = u128::from_be_bytes(bytes);
    ((whole >> 64) as u64, whole as u64)
}

/// Distributes ids evenly: an event's id begins with the time and has fixed bits in the middle.
fn mixed(trace: TraceId) -> u64 {
    let (high, low) = halves(trace.to_bytes());
    let mut mixed = high ^ low.rotate_left(29);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Decodes exactly this many bytes of lower-case hexadecimal.
fn hex<const BYTES: usize>(text: &[u8]) -> Option<[u8; BYTES]> {
    if text.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    let mut bytes = [0; BYTES];
    ::hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use hapax_core::{EventIds, Identity, SystemRandom, Timestamp};

    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn only_a_whole_and_true_parent_is_taken() {
        let parent = Parent::parse(VALID.as_bytes()).unwrap();
        assert_eq!(parent.to_string(), VALID);
        let later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-more";
        assert!(!Parent::parse(later.as_bytes()).unwrap().flags.is_sampled());
        for invalid in [
            "",
            "00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Parent::parse(invalid.as_bytes()), None, "{invalid}");
        }
    }

    #[test]
    fn the_senders_decision_holds_whatever_the_share() {
        let parent = Parent::parse(VALID.as_bytes()).unwrap();
        let unsampled = Parent {
            flags: TraceFlags::NOT_SAMPLED,
            ..parent
        };
        let (none, all) = (Sampler::keeping(0.0), Sampler::keeping(1.0));
        assert!(none.flags(Some(parent), parent.trace).is_sampled());
        assert!(!all.flags(Some(unsampled), parent.trace).is_sampled());
    }

    #[test]
    fn a_share_of_the_events_is_kept_however_alike_their_ids_are() {
        let ids = EventIds::default();
        let (random, key) = (SystemRandom::new(), Identity::new("a", "b").key());
        let now = Timestamp::from_seconds(1_767_225_600);
        let traces: Vec<TraceId> = (0..20_000)
            .map(|_| trace_of(None, ids.next(now, key, &random)))
            .collect();
        for share in [0.0, 0.1, 0.5, 1.0] {
            let sampler = Sampler::keeping(share);
            let kept = traces
                .iter()
                .filter(|trace| sampler.flags(None, **trace).is_sampled());
            let found = kept.count() as f64 / traces.len() as f64;
            assert!((found - share).abs() < 0.02, "{share}: {found}");
        }
    }
}
