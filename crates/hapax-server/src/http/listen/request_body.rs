//! A request's body, which tells its connection if it is dropped before its end.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::activity::Activity;

/// The body as a service gets it.
#[derive(Debug)]
pub struct RequestBody {
    incoming: Incoming,
    /// A body without a length knows its end only once it was read.
    has_ended: bool,
    activity: Activity,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, activity: &Activity) -> Self {
        Self {
            incoming,
            has_ended: false,
            activity: activity.clone(),
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.incoming).poll_frame(context);
        self.has_ended = matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended || self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if !self.is_end_stream() {
            self.activity.leave_unread();
        }
    }
}
