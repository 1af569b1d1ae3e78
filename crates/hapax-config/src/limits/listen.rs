//! What one listener grants to whoever connects.

use std::time::Duration;

/// What one listener grants to anyone who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; one more is answered 503 and closed.
    pub connections_max: usize,
    /// Connections of one peer at once; one more is answered 503 and closed. Never all of them. The same number bounds
    /// its requests at once by HTTP/2 and through a trusted proxy, whose own connections count among all only.
    pub peer_connections_max: usize,
    /// A connection that sends nothing for this long after it was opened, or has not ended its TLS handshake, is closed. A head that is not complete this
    /// long after it began, or up to twice as long on a connection that was used before, is answered 408: one timer for
    /// each connection looks at it now and then.
    pub head_timeout: Duration,
    /// A connection that was used is closed when no further head has begun for this long, and somewhat longer. Longer
    /// than proxies keep theirs, so that they close first: a request on a connection that we close just then is lost,
    /// and the proxy makes a 502 of it.
    pub keep_alive: Duration,
    /// Bytes of a request head; more are answered 431. (More than 100 headers are 431 too; that is fixed.) A connection
    /// holds a buffer of at most twice this size for as long as it is in a request.
    pub head_bytes_max: usize,
    /// How long requests that run may take to end once the listener stops.
    pub drain: Duration,
    /// What a client may still send that was answered before the end of its request.
    pub linger: Linger,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            peer_connections_max: usize::MAX,
            head_timeout: Duration::from_secs(10),
            keep_alive: Duration::from_secs(150),
            head_bytes_max: 64 * 1024,
            drain: Duration::from_secs(10),
            linger: Linger::default(),
        }
    }
}

/// What a client that was answered may still send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linger {
    /// Connections at once; one more is closed at once.
    pub connections_max: usize,
    /// Bytes of one connection. More than the largest body that any configuration takes.
    pub bytes_max: usize,
    /// Bytes of all connections in a second: throwing away takes time from deliveries. Who is ahead of it waits.
    pub bytes_per_second_max: u32,
    /// How long one connection may go on.
    pub within: Duration,
    /// A client that sends nothing for this long has had its answer.
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
