//! Resolves host names.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

type Addresses = io::Result<Vec<SocketAddr>>;
type Found = Pin<Box<dyn Future<Output = Addresses> + Send>>;

/// Resolves host names.
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

    /// Any other resolver, such as a fixed table.
    pub fn by<F, R>(find: F) -> Self
    where
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = Addresses> + Send + 'static,
    {
        Self(Arc::new(move |host| Box::pin(find(host))))
    }

    pub fn find(&self, host: &str) -> Found {
        (self.0)(host.to_owned())
    }
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lookup")
    }
}
