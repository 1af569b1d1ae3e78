//! HTTP/2, if a client negotiates it over TLS: its limits, and the conversion of its requests to the form of HTTP/1.1.

use std::time::Duration;

use http::header::HOST;
use http::{HeaderValue, Request, Uri};
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper_util::rt::TokioTimer;
use tokio_util::sync::CancellationToken;

use super::Limits;

/// The most concurrent requests on one connection.
const STREAMS_MAX: u32 = 128;
/// The most streams that a client may open and reset before we accept them. One more ends the connection.
const PENDING_RESETS_MAX: usize = 32;
/// The most streams that we reset because of a client's errors. One more ends the connection.
const ERROR_RESETS_MAX: usize = 64;
/// The most bytes of one body that a client may send before we read them.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
/// The same for all bodies of a connection.
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
/// The most bytes of one response that may wait to be sent.
const SEND_BYTES_MAX: usize = 64 * 1024;
/// How often a connection is pinged, and how long it has to respond.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(15);

/// The settings of connections. Request tasks end when `connection` is cancelled.
pub(super) fn builder(limits: &Limits, connection: CancellationToken) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(Streams(connection));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(PENDING_RESETS_MAX)
        .max_local_error_reset_streams(ERROR_RESETS_MAX)
        .max_header_list_size(u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BYTES_MAX)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN);
    builder
}

/// Runs each request of a connection in a separate task, which does not outlive the connection.
#[derive(Clone)]
pub(super) struct Streams(CancellationToken);

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, request: F) {
        let connection = self.0.clone();
        tokio::spawn(async move { connection.run_until_cancelled(request).await });
    }
}

/// Moves the host to the `Host` header and leaves only the path in the URL, as in HTTP/1.1.
pub(super) fn as_http1<B>(request: &mut Request<B>) {
    let uri = std::mem::take(request.uri_mut());
    let host = uri
        .authority()
        .map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = host {
        request.headers_mut().insert(HOST, host);
    }
    *request.uri_mut() = uri.into_parts().path_and_query.map(Uri::from).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_looks_as_it_would_by_http1() {
        let mut request = Request::new(());
        *request.uri_mut() = Uri::from_static("https://hooks.example.com:8443/in/stripe?a=b");
        as_http1(&mut request);
        assert_eq!(request.uri(), "/in/stripe?a=b");
        assert_eq!(request.headers()[HOST], "hooks.example.com:8443");
        as_http1(&mut request);
        assert_eq!(request.headers()[HOST], "hooks.example.com:8443");
    }
}
