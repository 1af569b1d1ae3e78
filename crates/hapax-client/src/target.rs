//! The service to talk to, and the credentials to use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use hapax_config::Environment;
use hapax_core::Secret;
use hapax_outbound::tls::{Tls, Trust};
use http::Uri;

/// A URL that is not that of a service.
#[derive(Debug, thiserror::Error)]
#[error("the admin URL `{url}` {reason}; write it like http://127.0.0.1:8081")]
pub struct BadUrl {
    url: String,
    reason: &'static str,
}

#[derive(Clone, Debug)]
pub struct Target {
    /// Without a trailing slash.
    base: String,
    token: Option<Secret>,
    note: String,
    tls: Tls,
}

impl Target {
    /// The service at a URL.
    ///
    /// # Errors
    /// If it is not the URL of an HTTP server.
    pub fn at(url: &str, token: Option<Secret>) -> Result<Self, BadUrl> {
        let wrong = |reason| BadUrl {
            // What stands before an @ may be a password.
            url: match url.rsplit_once('@') {
                Some((_, host)) => format!("…@{host}"),
                None => url.to_owned(),
            },
            reason,
        };
        let uri: Uri = url.parse().map_err(|_| wrong("cannot be read"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("does not begin with http:// or https://"));
        }
        if uri
            .authority()
            .is_none_or(|authority| authority.as_str().contains('@'))
        {
            return Err(wrong(
                "contains a user name; put the token into HAPAX_ADMIN_TOKEN",
            ));
        }
        Ok(Self {
            base: url.trim_end_matches('/').to_owned(),
            token,
            note: note(),
            tls: Tls::default(),
        })
    }

    /// The service that listens on `address` of this machine.
    pub fn listening_on(address: SocketAddr, token: Option<Secret>) -> Self {
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        Self {
            base: format!("http://{}", SocketAddr::new(ip, address.port())),
            token,
            note: note(),
            tls: Tls::default(),
        }
    }

    /// The same service, with these certificates.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls, ..self }
    }

    /// The same service over TLS. Unless CAs are named, only the certificate that the service itself reads is trusted.
    #[must_use]
    pub fn by_tls(self, tls: Tls, cert: PathBuf) -> Self {
        let trust = match tls.trust {
            Trust::Public => Trust::Exactly(cert),
            named => named,
        };
        Self {
            base: self.base.replacen("http://", "https://", 1),
            tls: Tls { trust, ..tls },
            ..self
        }
    }

    /// The address, for messages.
    pub fn shown(&self) -> String {
        self.base.clone()
    }

    pub(crate) fn api(&self, path: &str) -> String {
        format!("{}/api/v1/{path}", self.base)
    }

    pub(crate) fn root(&self, path: &str) -> String {
        format!("{}/{path}", self.base)
    }

    pub(crate) const fn tls(&self) -> &Tls {
        &self.tls
    }

    pub(crate) const fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    pub(crate) fn note(&self) -> &str {
        &self.note
    }
}

/// The note that the audit trail shows: the user of this shell.
fn note() -> String {
    const NAME_CHARACTERS_MAX: usize = 64;
    let environment = Environment::of_process();
    let user = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| environment.text(name))
        .unwrap_or_default();
    let name: String = user
        .chars()
        .filter(char::is_ascii_graphic)
        .take(NAME_CHARACTERS_MAX)
        .collect();
    if name.is_empty() {
        "cli".to_owned()
    } else {
        format!("cli:{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_means_everywhere_is_reached_over_loopback() {
        let shown = |address: &str| Target::listening_on(address.parse().unwrap(), None).shown();
        assert_eq!(shown("0.0.0.0:8081"), "http://127.0.0.1:8081");
        assert_eq!(shown("[::]:8081"), "http://[::1]:8081");
        assert_eq!(shown("10.0.0.1:1"), "http://10.0.0.1:1");
    }

    #[test]
    fn a_url_that_is_none_says_how_to_write_one() {
        for url in [
            "",
            "localhost:8081",
            "ftp://localhost",
            "http://user:secret@localhost",
            "user:secret/@localhost:8081",
        ] {
            let error = Target::at(url, None).unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:8081"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let target = Target::at("http://localhost:8081/", None).unwrap();
        assert_eq!(target.api("events"), "http://localhost:8081/api/v1/events");
    }
}
