//! DNS, with the addresses that may not be called taken out after the look-up: a name is only as good as what it
//! resolves to at this moment.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use crate::config::address::is_forbidden;

type Addresses = io::Result<Vec<SocketAddr>>;
type Found = Pin<Box<dyn Future<Output = Addresses> + Send>>;

/// How names are looked up.
#[derive(Clone)]
pub struct Lookup(Arc<dyn Fn(String) -> Found + Send + Sync>);

impl Lookup {
    /// The system's resolver.
    pub fn system() -> Self {
        Self::by(|host| async move {
            let addresses = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(addresses.collect())
        })
    }

    /// Any other, such as a fixed table.
    pub fn by<F, R>(find: F) -> Self
    where
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = Addresses> + Send + 'static,
    {
        Self(Arc::new(move |host| Box::pin(find(host))))
    }
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lookup")
    }
}

/// A name leads to an address that may not be called.
#[derive(Debug, thiserror::Error)]
#[error("the destination's name leads to {ip}, which may not be called: {reason}")]
pub(super) struct Blocked {
    ip: IpAddr,
    reason: &'static str,
}

/// Looks names up and refuses those that lead to a forbidden address, even among others.
#[derive(Clone, Debug)]
pub(super) struct GuardedResolver {
    lookup: Lookup,
}

impl GuardedResolver {
    pub(super) const fn new(lookup: Lookup) -> Self {
        Self { lookup }
    }
}

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = (self.lookup.0)(name.as_str().to_owned());
        Box::pin(async move {
            let addresses = addresses.await?;
            for address in &addresses {
                let ip = address.ip();
                if let Some(reason) = is_forbidden(ip) {
                    return Err(Blocked { ip, reason }.into());
                }
            }
            Ok(addresses.into_iter())
        })
    }
}
