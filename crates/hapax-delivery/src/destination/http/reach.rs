//! Whether a URL can be reached. Nothing is sent: a connection is opened and closed.

use std::net::SocketAddr;
use std::time::Duration;

use http::Uri;
use tokio::net::{TcpStream, lookup_host};

use crate::destination::Unreachable;
use hapax_config::address::is_forbidden;

/// A destination that does not answer within this time is unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) async fn check(url: &Uri) -> Result<String, Unreachable> {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") {
        443
    } else {
        80
    });
    let shown = format!("{host}:{port}");
    let problem = match tokio::time::timeout(CONNECT_TIMEOUT, connect(host, port)).await {
        Ok(Ok(address)) => return Ok(format!("{address} answers")),
        Ok(Err(problem)) => format!("{shown}: {problem}"),
        Err(_) => format!("{shown} does not answer within {} s", CONNECT_TIMEOUT.as_secs()),
    };
    Err(Unreachable {
        problem,
        fix: format!(
            "start the server that should listen on {shown}, or correct the url; until then, events wait; nothing is \
             lost"
        ),
    })
}

async fn connect(host: &str, port: u16) -> Result<SocketAddr, String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = lookup_host((bare, port))
        .await
        .map_err(|error| format!("the name does not resolve: {error}"))?;
    let mut problem = "the name has no address".to_owned();
    for address in addresses {
        if let Some(why) = is_forbidden(address.ip()) {
            problem = format!("{address} is not an allowed target: {why}");
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(_) => return Ok(address),
            Err(error) => problem = format!("{address}: {error}"),
        }
    }
    Err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listening_destination_is_reachable_and_a_closed_one_is_not() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url: Uri = format!("http://{address}/hook").parse().unwrap();
        assert_eq!(check(&url).await, Ok(format!("{address} answers")));
        drop(listener);
        let closed = check(&url).await.unwrap_err();
        assert!(closed.fix.contains("nothing is lost"));
    }
}
