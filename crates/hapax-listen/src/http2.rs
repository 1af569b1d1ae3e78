//! HTTP/2, where a client asks for it by TLS: its limits, and how its requests are made to look like those of HTTP/1.1.

use std::time::Duration;

use http::header::HOST;
use http::{HeaderValue, Request, Uri};
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper_util::rt::TokioTimer;
use tokio_util::sync::CancellationToken;

use super::Limits;

/// Requests at the same time on one connection.
const STREAMS_MAX: u32 = 128;
/// Streams that a client opened and reset before we took them up; one more ends the connection.
const PENDING_RESETS_MAX: usize = 32;
/// Streams that we reset for a client's mistakes; one more ends the connection.
const ERROR_RESETS_MAX: usize = 64;
/// Bytes of one body that a client may send ahead of what we have read.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
/// The same, of all bodies of a connection.
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
/// Bytes of one answer that wait to be sent.
const SEND_BYTES_MAX: usize = 64 * 1024;
/// A connection is asked for a sign of life this often, and has this long to give it.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(15);

/// How connections are served; the tasks of requests end with `connection`.
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

/// Runs each request of a connection in a task of its own, which does not outlive the connection.
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

/// The name of the host in the `Host` header and the path alone in the URL, where HTTP/1.1 has them.
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
