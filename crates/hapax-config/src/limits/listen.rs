//! What a listener allows a client.

use std::time::Duration;

/// What a listener allows a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most open connections. One more is answered 503 and closed.
    pub connections_max: usize,
    /// The most open connections from one peer, which are never all of the listener's. One more is answered 503 and
    /// closed. The same number limits a peer's concurrent requests over HTTP/2 and through a trusted proxy. The proxy's
    /// own connections count only towards the total.
    pub peer_connections_max: usize,
    /// A connection that sends nothing for this long after it was opened, or has not completed its TLS handshake by
    /// then, is closed. A head that is still incomplete this long after it began is answered 408. On a connection that
    /// was used before, that may take up to twice as long, because one timer per connection checks it periodically.
    pub head_timeout: Duration,
    /// A connection that was used is closed, with some delay, when no further head has begun for this long. This is
    /// longer than proxies keep their connections, so that they close first: a request on a connection that we are just
    /// closing is lost, and the proxy turns it into a 502.
    pub keep_alive: Duration,
    /// The largest request head, in bytes. A larger one is answered 431, and so are more than 100 headers, which is a
    /// fixed limit. During a request, a connection holds a buffer of at most twice this size.
    pub head_bytes_max: usize,
    /// How long running requests may take to finish once the listener stops.
    pub drain: Duration,
    /// How much a client may still send after it was answered before the end of its request.
    pub linger: Linger,
}

/// How long running requests may take to finish, unless the service says otherwise.
pub(super) const DRAIN: Duration = Duration::from_secs(10);

/// Without a limit for each peer, and with room for the long heads of browsers.
impl Default for Limits {
    fn default() -> Self {
        Self {
            peer_connections_max: usize::MAX,
            head_bytes_max: 64 * 1024,
            ..super::Limits::default().listen
        }
    }
}

/// How much a client may still send after it was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linger {
    /// The most lingering connections. One more is closed immediately.
    pub connections_max: usize,
    /// The most bytes per connection: more than the largest body that any configuration accepts.
    pub bytes_max: usize,
    /// The most bytes per second on all connections, because discarding them takes time from other requests. A
    /// connection that is ahead of this rate waits.
    pub bytes_per_second_max: u32,
    /// The longest that one connection may linger.
    pub within: Duration,
    /// A client that sends nothing for this long has received its answer.
    pub silence_max: Duration,
}

impl Default for Linger {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            bytes_max: 128 << 20,
            bytes_per_second_max: 128 << 20,
            within: Duration::from_secs(30),
            silence_max: Duration::from_secs(5),
        }
    }
}
