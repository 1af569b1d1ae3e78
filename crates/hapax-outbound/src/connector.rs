//! TCP connections to destinations. Every address is checked before connecting, whether it comes from the URL or from
//! resolving a name, and if a name has several addresses, each of them is checked.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::guard::Guard;
use super::lookup::Lookup;

/// The time allowed for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Opens only connections that its guard permits.
#[derive(Clone, Debug)]
pub(crate) struct GuardedConnector {
    pub lookup: Lookup,
    pub guard: Guard,
}

impl Service<Uri> for GuardedConnector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let port = port_of(&url);
        // The resolver never sees an address that is written in the URL.
        let literal: Option<IpAddr> = bare_host(&url).parse().ok();
        let allowed = literal.map_or(Ok(()), |ip| {
            self.guard.check(bare_host(&url), SocketAddr::new(ip, port))
        });
        let mut http = HttpConnector::new_with_resolver(Resolver {
            connector: self.clone(),
            port,
        });
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        Box::pin(async move {
            allowed?;
            Ok(http.call(url).await?)
        })
    }
}

/// The host name in a URL, or its address without brackets.
fn bare_host(url: &Uri) -> &str {
    let host = url.host().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The port in a URL, or its scheme's default.
fn port_of(url: &Uri) -> u16 {
    let default = if url.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    url.port_u16().unwrap_or(default)
}

/// Resolves a name and refuses it if any of its addresses may not be called.
#[derive(Clone, Debug)]
struct Resolver {
    connector: GuardedConnector,
    port: u16,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { connector, port } = self.clone();
        Box::pin(async move {
            let addresses = connector.lookup.find(name.as_str()).await?;
            for address in &addresses {
                connector
                    .guard
                    .check(name.as_str(), SocketAddr::new(address.ip(), port))?;
            }
            Ok(addresses.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::net::TcpListener;

    use super::super::guard::{Blocked, Rows};
    use super::*;
    use hapax_config::AllowedTargets;

    /// A name is checked again for every new connection, because its owner can change where it points.
    #[tokio::test]
    async fn a_name_is_checked_at_every_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "http://rebound.example:{}/",
            listener.local_addr().unwrap().port()
        );
        let was_asked = AtomicBool::new(false);
        let lookup = Lookup::by(move |_| {
            let last: u8 = if was_asked.swap(true, Ordering::Relaxed) {
                2
            } else {
                1
            };
            async move { Ok(vec![SocketAddr::from(([127, 0, 0, last], 0))]) }
        });
        let rows = Rows {
            outbox: "app".to_owned(),
            allowed: AllowedTargets::parse(&["127.0.0.1"]).unwrap(),
            listeners: Vec::new(),
        };
        let guard = Guard::Rows(Arc::new(rows));
        let mut connector = GuardedConnector { lookup, guard };
        connector.call(url.parse().unwrap()).await.unwrap();
        let error = connector.call(url.parse().unwrap()).await.unwrap_err();
        let cause = std::error::Error::source(&*error);
        assert!(matches!(cause, Some(cause) if cause.is::<Blocked>()), "{error:?}");
    }
}
