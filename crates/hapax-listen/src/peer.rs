//! What a request carries about the other end of its connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Extensions;

/// The address that a request came from: the client's, or that of the last proxy before us. Requests carry it as an
/// extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// An extension of requests that arrived over TLS.
#[derive(Clone, Copy, Debug)]
pub struct Encrypted;

impl Peer {
    /// The peer of the request with these extensions. Requests without one all share the same peer.
    pub fn of(extensions: &Extensions) -> Self {
        let unknown = Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        extensions.get::<Self>().copied().unwrap_or(unknown)
    }

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
