//! HTTP over one connection, from its first request to its last.

use std::pin::Pin;
use std::sync::Arc;

use http::Request;
use http::header::{CONNECTION, HeaderValue};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2 as hyper_http2};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::activity::{self, Activity};
use super::census::{CountedConnection, Full};
use super::peer::{Origin, Peer};
use super::request_body::RequestBody;
use super::stream::Stream;
use super::watched::Watched;
use super::{Client, HttpBody, HttpService, Limits, Shared, http2, refuse};

/// How HTTP on a connection ended.
pub(super) enum Ended {
    /// Nothing more is expected, or no one is waiting for a response.
    Whole,
    /// With a response, while the client may still be sending.
    MidRequest,
    /// Without a response, because a request's head was not completed.
    InHead,
}

/// Serves one connection until the client closes it, it is idle for too long, or `ending` resolves.
pub(super) async fn converse<B: HttpBody, S: HttpService<B>>(
    stream: &mut Stream,
    client: &Client,
    service: S,
    ending: impl Future<Output = ()>,
    first_tick: Instant,
) -> Ended {
    let activity = Activity::default();
    // The first byte has already been seen.
    activity.note_bytes();
    let (is_encrypted, is_http2) = (stream.is_encrypted(), stream.speaks_http2());
    let Shared {
        limits, lingering, ..
    } = &*client.shared;
    let watched = service_fn(|mut request: Request<Incoming>| {
        let busy = activity.begin();
        let peer = client
            .shared
            .front
            .proxies
            .client(client.address, request.headers());
        if is_http2 {
            http2::as_http1(&mut request);
        }
        let lingering = is_http2.then(|| Arc::clone(lingering));
        let origin = Origin { peer, is_encrypted };
        let request = request.map(|body| RequestBody::new(body, origin, &activity, lingering));
        let (place, answer) = match client.admit(peer, is_http2) {
            Ok(place) => (place, Ok(service.call(request))),
            Err(full) => (None, Err(full)),
        };
        async move {
            let mut response = match answer {
                Ok(answer) => answer.await?,
                Err(full) => refuse::overloaded(full, "requests").into_response(),
            };
            // HTTP/2 continues with other streams. This one is reset if its client does not stop sending.
            if busy.has_unread() && !is_http2 {
                response
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, S::Error>(response.map(|body| busy.until_sent(body, place)))
        }
    });
    let watch = Watch {
        activity: &activity,
        ending,
        first_tick,
        limits,
    };
    if is_http2 {
        let connection = CancellationToken::new();
        let _ends_requests = connection.clone().drop_guard();
        let serving = http2::builder(limits, connection).serve_connection(TokioIo::new(stream), watched);
        watch
            .until_end(serving, hyper_http2::Connection::graceful_shutdown)
            .await;
        // Without a request there is no response to protect, and each body lingers separately.
        return Ended::Whole;
    }
    let stream = Watched {
        stream,
        activity: activity.clone(),
    };
    let serving = http1::Builder::new()
        .max_buf_size(limits.head_bytes_max)
        .max_header_size(limits.head_bytes_max)
        // Responses are short: one copy into one buffer costs less than a vectored write.
        .writev(false)
        .serve_connection(TokioIo::new(stream), watched);
    watch
        .until_end(serving, http1::Connection::graceful_shutdown)
        .await
}

impl Client {
    /// Counts a request whose connection does not represent it: one of many over HTTP/2, or one from a proxy.
    fn admit(&self, peer: Peer, is_http2: bool) -> Result<Option<CountedConnection>, Full> {
        let Shared { front, requests, .. } = &*self.shared;
        let is_proxied = || front.proxies.counted(Peer(self.address)).is_none();
        if is_http2 || is_proxied() {
            return requests.enter(Some(peer)).map(Some);
        }
        Ok(None)
    }
}

/// The conditions under which we end a connection.
struct Watch<'a, E> {
    activity: &'a Activity,
    ending: E,
    first_tick: Instant,
    limits: &'a Limits,
}

impl<E: Future<Output = ()>> Watch<'_, E> {
    /// Drives a connection; `graceful_shutdown` makes it end after the requests in progress.
    async fn until_end<C>(self, serving: C, graceful_shutdown: fn(Pin<&mut C>)) -> Ended
    where
        C: Future<Output = hyper::Result<()>>,
    {
        let Self {
            activity,
            ending,
            first_tick,
            limits,
        } = self;
        tokio::pin!(serving, ending);
        let mut ticks = interval_at(first_tick, limits.head_timeout.min(limits.keep_alive));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_ending = false;
        let mut look = Look::at(activity, Instant::now());
        loop {
            tokio::select! {
                biased;
                // A disconnect is not an error of ours. Input that is not HTTP was answered 400 or 431.
                ended = serving.as_mut() => {
                    let is_answered = activity.has_unread() || ended.is_err_and(|error| error.is_parse());
                    return if is_answered && !is_ending { Ended::MidRequest } else { Ended::Whole };
                }
                () = &mut ending, if !is_ending => {
                    is_ending = true;
                    graceful_shutdown(serving.as_mut());
                }
                now = ticks.tick() => {
                    let last = std::mem::replace(&mut look, Look::at(activity, now));
                    if last.stamp != look.stamp || !look.stamp.is_idle() {
                        continue;
                    }
                    if last.is_in_head {
                        return if is_ending { Ended::Whole } else { Ended::InHead };
                    }
                    look.since = last.since;
                    if now.duration_since(look.since) >= limits.keep_alive {
                        return Ended::Whole;
                    }
                }
            }
        }
    }
}

/// The state of a connection at one moment.
struct Look {
    stamp: activity::Stamp,
    is_in_head: bool,
    /// Since when nothing has changed.
    since: Instant,
}

impl Look {
    fn at(activity: &Activity, now: Instant) -> Self {
        Self {
            stamp: activity.stamp(),
            is_in_head: activity.is_in_head(),
            since: now,
        }
    }
}
