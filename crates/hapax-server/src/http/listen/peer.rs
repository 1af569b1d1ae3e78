//! Tells a service who is at the other end of its connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{Extensions, Request};
use hyper::service::Service;

/// The address that a request came from: of the client, or of the last proxy before us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

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

/// A service whose requests carry their [`Peer`].
#[derive(Clone, Debug)]
pub struct WithPeer<S> {
    /// The service.
    pub service: S,
    /// Who is at the other end.
    pub peer: Peer,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for WithPeer<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, mut request: Request<B>) -> S::Future {
        request.extensions_mut().insert(self.peer);
        self.service.call(request)
    }
}
