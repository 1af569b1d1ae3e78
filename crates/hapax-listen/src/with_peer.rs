//! The peer as an extension of requests.

use http::Request;
use hyper::service::Service;

use super::peer::{Encrypted, Origin};
use super::request_body::RequestBody;

/// Adds [`Peer`](super::Peer) and [`Encrypted`] to the extensions of every request, for a router whose handlers do not
/// see the body as it arrived. Extensions are allocated, so the hot path does without.
#[derive(Clone, Debug)]
pub struct WithPeer<S>(pub S);

impl<S: Service<Request<RequestBody>>> Service<Request<RequestBody>> for WithPeer<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, mut request: Request<RequestBody>) -> Self::Future {
        let Origin { peer, is_encrypted } = request.body().origin();
        request.extensions_mut().insert(peer);
        if is_encrypted {
            request.extensions_mut().insert(Encrypted);
        }
        self.0.call(request)
    }
}
