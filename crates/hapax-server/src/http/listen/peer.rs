//! Tells a service who is at the other end of its connection.

use std::net::IpAddr;

use http::Request;
use hyper::service::Service;

/// The address that a request came from: of the client, or of the last proxy before us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

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
