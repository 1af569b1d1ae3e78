//! The service to talk to, and the credentials to use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use hapax_core::Secret;
use http::Uri;

use crate::exit::CliError;
use crate::globals::Globals;
use hapax_config::{self as config, ConfigError, Environment, Flag, Server};

use hapax_outbound::tls::{Tls, Trust};

/// The admin port if the configuration does not set one.
const ADMIN_PORT_DEFAULT: u16 = 8081;

#[derive(Clone, Debug)]
pub struct Target {
    /// Without a trailing slash.
    base: String,
    token: Option<Secret>,
    note: String,
    tls: Tls,
}

impl Target {
    /// The service named by the flags and the environment, or else by `[server]` in the configuration.
    ///
    /// # Errors
    /// If the URL is invalid, or `[server]` in the configuration is wrong.
    pub fn from_globals(globals: &Globals) -> Result<Self, CliError> {
        let environment = Environment::beside(&globals.config)?;
        let server = server_section(&globals.config, &environment, globals.token.as_ref());
        let tls = Tls {
            trust: globals.cacert.clone().map_or(Trust::Public, Trust::Authorities),
            identity: globals.client_cert.clone(),
        };
        if let Some(url) = &globals.admin {
            // With `--admin`, a configuration that cannot be read does not matter.
            let configured = || server.ok().flatten().and_then(|server| server.admin_token);
            let target = Self::at(url, globals.token.clone().or_else(configured))?;
            return Ok(Self { tls, ..target });
        }
        if let Some(server) = server? {
            let target = Self::listening_on(server.admin_listen, server.admin_token);
            return Ok(match server.admin_tls {
                Some(files) => target.by_tls(tls, files.cert),
                None => target,
            });
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ADMIN_PORT_DEFAULT));
        Ok(Self::listening_on(address, globals.token.clone()))
    }

    /// The service at a URL.
    ///
    /// # Errors
    /// If it is not the URL of an HTTP server.
    pub fn at(url: &str, token: Option<Secret>) -> Result<Self, CliError> {
        let wrong = |why: &str| {
            CliError::usage(format!(
                "the admin URL `{url}` {why}; write it like http://127.0.0.1:8081"
            ))
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

    /// The same service over TLS. Unless CAs are named, only the certificate that the service itself reads is trusted.
    fn by_tls(self, tls: Tls, cert: PathBuf) -> Self {
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

    pub(super) fn api(&self, path: &str) -> String {
        format!("{}/api/v1/{path}", self.base)
    }

    pub(super) fn root(&self, path: &str) -> String {
        format!("{}/{path}", self.base)
    }

    pub(super) const fn tls(&self) -> &Tls {
        &self.tls
    }

    pub(super) const fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    pub(super) fn note(&self) -> &str {
        &self.note
    }
}

/// Only `[server]` of the configuration: an operator's shell need not have the secrets of every source. `None` if there
/// is no file.
fn server_section(
    path: &Path,
    environment: &Environment,
    token: Option<&Secret>,
) -> Result<Option<Server>, ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(ConfigError::Unreadable {
                path: path.to_owned(),
                error,
            });
        }
    };
    let flags: Vec<Flag> = token
        .map(|token| Flag {
            flag: "--token",
            path: "server.admin_token",
            value: token.expose().to_owned(),
        })
        .into_iter()
        .collect();
    let server = text.parse::<toml::Table>().ok().map(|mut whole| {
        whole.retain(|name, _| name == "server");
        config::parse(&whole.to_string(), path, environment, &flags)
    });
    match server {
        Some(Ok(config)) => Ok(Some(config.server)),
        // Parse the whole file again, so that the message has the right line numbers.
        Some(Err(_)) | None => {
            config::parse(&text, path, environment, &flags).map(|config| Some(config.server))
        }
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
    fn the_server_section_is_read_without_the_secrets_of_the_sources() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.toml");
        let text = "[server]\nadmin_listen = \"127.0.0.1:9\"\nadmin_token = \"env:T\"\n\
                    [sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"env:ABSENT\"]\n";
        std::fs::write(&path, text).unwrap();
        let server = server_section(&path, &Environment::with([("T", "hunter2")]), None)
            .unwrap()
            .unwrap();
        assert_eq!(server.admin_listen.port(), 9);
        assert_eq!(server.admin_token, Some(Secret::new("hunter2")));
        // `--token` is enough, even if the variable that the file names is not set.
        let token = Secret::new("given");
        let server = server_section(&path, &Environment::with([]), Some(&token))
            .unwrap()
            .unwrap();
        assert_eq!(server.admin_token, Some(token));
        assert!(
            server_section(&path, &Environment::with([]), None)
                .unwrap_err()
                .to_string()
                .contains("hapax.toml")
        );
        assert!(
            server_section(&folder.path().join("absent"), &Environment::with([]), None)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_url_that_is_none_says_how_to_write_one() {
        for url in [
            "",
            "localhost:8081",
            "ftp://localhost",
            "http://user:secret@localhost",
        ] {
            let error = Target::at(url, None).unwrap_err().error.unwrap().to_string();
            assert!(error.contains("http://127.0.0.1:8081"), "{error}");
        }
        let target = Target::at("http://localhost:8081/", None).unwrap();
        assert_eq!(target.api("events"), "http://localhost:8081/api/v1/events");
    }
}
