//! A request's body. It notifies its connection if it is dropped before its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::activity::Activity;
use super::linger::Lingering;
use super::peer::{Origin, Peer};

/// The body as the service receives it.
#[derive(Debug)]
pub struct RequestBody {
    origin: Origin,
    /// `Some` until it is dropped.
    incoming: Option<Incoming>,
    /// Whether the end was read, which is the only way to know for a body without a length.
    has_ended: bool,
    activity: Activity,
    /// For a connection that continues after an unread body.
    lingering: Option<Arc<Lingering>>,
}

impl RequestBody {
    pub(super) fn new(
        incoming: Incoming,
        origin: Origin,
        activity: &Activity,
        lingering: Option<Arc<Lingering>>,
    ) -> Self {
        Self {
            origin,
            incoming: Some(incoming),
            has_ended: false,
            activity: activity.clone(),
            lingering,
        }
    }

    /// The peer that sent the request.
    pub const fn peer(&self) -> Peer {
        self.origin.peer
    }

    pub(super) const fn origin(&self) -> Origin {
        self.origin
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(incoming) = &mut self.incoming else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(incoming).poll_frame(context);
        self.has_ended = matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended || self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if self.is_end_stream() {
            return;
        }
        self.activity.leave_unread();
        if let (Some(lingering), Some(incoming)) = (self.lingering.take(), self.incoming.take()) {
            tokio::spawn(async move { lingering.linger_body(incoming).await });
        }
    }
}
