//! What a request says of the other end of its connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Extensions;

/// The address that a request came from: of the client, or of the last proxy before us. Requests carry it as an
/// extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// A request that carries this as an extension came over TLS.
#[derive(Clone, Copy, Debug)]
pub struct Encrypted;

impl Peer {
    /// Who sent the request that has these extensions. Without one, all requests have the same.
    pub fn of(extensions: &Extensions) -> Self {
        let unknown = Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        extensions.get::<Self>().copied().unwrap_or(unknown)
    }

    /// The network whose limits count: a client with one IPv6 address usually has the whole /64.
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
