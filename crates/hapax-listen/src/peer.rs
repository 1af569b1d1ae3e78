//! What a request carries about the other end of its connection.

use std::net::{IpAddr, Ipv6Addr};

/// The address that a request came from: the client's, or that of the last proxy before us. The body of every request
/// knows it; behind [`WithPeer`](super::WithPeer), it is also an extension of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// An extension of requests that arrived over TLS, behind [`WithPeer`](super::WithPeer).
#[derive(Clone, Copy, Debug)]
pub struct Encrypted;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) peer: Peer,
    pub(super) is_encrypted: bool,
}

impl Peer {
    /// The network that limits apply to: a client with one IPv6 address usually has the whole /64.
    #[must_use]
    pub fn network(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        }
    }
}
