//! The activity of a connection: whether it is in requests or in a request's head, whether anything has happened since
//! the last check, and whether a body was left unread.
//!
//! One timer per connection checks this periodically. A timer per request would add a cost to every request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};

use super::census::CountedConnection;

#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Requests in progress: one at a time over HTTP/1.1, many over HTTP/2.
    in_hand: AtomicUsize,
    /// The number of requests that have begun.
    begun: AtomicU64,
    /// Whether bytes have arrived since the last request ended.
    in_head: AtomicBool,
    has_unread: AtomicBool,
}

/// A snapshot, to compare with a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    in_hand: usize,
    begun: u64,
}

impl Stamp {
    pub(super) const fn is_idle(self) -> bool {
        self.in_hand == 0
    }
}

impl Activity {
    /// Begins a request, which ends when the guard is dropped.
    pub(super) fn begin(&self) -> Busy {
        self.0.in_hand.fetch_add(1, Ordering::Relaxed);
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        self.0.in_head.store(false, Ordering::Relaxed);
        Busy(self.clone())
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp {
            in_hand: self.0.in_hand.load(Ordering::Relaxed),
            begun: self.0.begun.load(Ordering::Relaxed),
        }
    }

    /// Records that bytes have arrived. Outside a request, they begin a new one.
    pub(super) fn note_bytes(&self) {
        if self.stamp().is_idle() {
            self.0.in_head.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a request has begun whose head is not complete.
    pub(super) fn is_in_head(&self) -> bool {
        self.0.in_head.load(Ordering::Relaxed)
    }

    /// Records that a body was dropped before its end, so that no further request can follow on this connection.
    pub(super) fn leave_unread(&self) {
        self.0.has_unread.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_unread(&self) -> bool {
        self.0.has_unread.load(Ordering::Relaxed)
    }
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct Busy(Activity);

impl Busy {
    pub(super) fn has_unread(&self) -> bool {
        self.0.has_unread()
    }

    /// Stays busy until the body has been sent, so that an event stream does not count as an idle connection and keeps
    /// its place.
    pub(super) const fn until_sent<B>(self, body: B, place: Option<CountedConnection>) -> Sending<B> {
        Sending {
            body,
            _busy: self,
            _place: place,
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.in_hand.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that keeps its connection busy.
#[derive(Debug)]
pub(super) struct Sending<B> {
    body: B,
    _busy: Busy,
    _place: Option<CountedConnection>,
}

impl<B: Body + Unpin> Body for Sending<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_with_several_requests_is_busy_until_the_last_has_ended() {
        let activity = Activity::default();
        let (first, second) = (activity.begin(), activity.begin());
        drop(second);
        assert!(!activity.stamp().is_idle());
        drop(first);
        assert!(activity.stamp().is_idle());
    }

    #[test]
    fn a_connection_is_idle_before_and_after_a_request_and_the_two_differ() {
        let activity = Activity::default();
        let before = activity.stamp();
        let busy = activity.begin();
        assert!(!activity.stamp().is_idle());
        drop(busy.until_sent(http_body_util::Full::new(bytes::Bytes::new()), None));
        let after = activity.stamp();
        assert!(before.is_idle() && after.is_idle() && before != after);
    }

    #[test]
    fn bytes_outside_a_request_are_its_head_until_it_begins() {
        let activity = Activity::default();
        assert!(!activity.is_in_head());
        activity.note_bytes();
        assert!(activity.is_in_head());
        let busy = activity.begin();
        activity.note_bytes();
        drop(busy);
        assert!(!activity.is_in_head());
    }
}
