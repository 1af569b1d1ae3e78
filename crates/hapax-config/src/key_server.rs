//! `server.key_server`: a server on this machine that stands in for the providers' key servers in tests.

use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;

/// A server on this machine that is asked for every key in place of the provider's own server, for tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyServer(String);

/// Why a key server is refused.
#[derive(Debug, thiserror::Error)]
#[error("a key server is only for tests, on this machine; write it like \"http://127.0.0.1:9000\"")]
pub struct KeyServerError;

impl KeyServer {
    /// This server's URL for a key: the original host, then the original path.
    pub fn instead_of(&self, uri: &Uri) -> Option<Uri> {
        format!("{}/{}{}", self.0, uri.host()?, uri.path_and_query()?)
            .parse()
            .ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyServer {
    type Err = KeyServerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| KeyServerError)?;
        let host = uri.host().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        let is_local = literal.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let is_plain =
            uri.scheme_str() == Some("http") && uri.query().is_none() && matches!(uri.path(), "" | "/");
        if is_local && is_plain && !text.contains('@') {
            Ok(Self(text.trim_end_matches('/').to_owned()))
        } else {
            Err(KeyServerError)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_server_is_on_this_machine() {
        assert!("http://127.0.0.1:9000/".parse::<KeyServer>().is_ok());
        assert!("http://[::1]:9000".parse::<KeyServer>().is_ok());
        for wrong in [
            "https://127.0.0.1:9000",
            "http://10.0.0.1:9000",
            "http://localhost:9000",
            "http://127.0.0.1:9000/path",
            "http://127.0.0.1@evil.example",
            "nonsense",
        ] {
            assert!(wrong.parse::<KeyServer>().is_err(), "{wrong}");
        }
    }
}
