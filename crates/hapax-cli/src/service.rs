//! The service that the operator verbs talk to.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use hapax_client::{Client, Page, Target};
use hapax_config::{self as config, ConfigError, Environment, Flag, Server};
use hapax_core::Secret;
use hapax_outbound::tls::{Tls, Trust};
use hapax_terminal::output;

use crate::exit::CliError;
use crate::globals::Globals;

/// The admin port if the configuration does not set one.
const ADMIN_PORT_DEFAULT: u16 = 8081;

/// The client for the service named by the flags and the environment, or else by `[server]` in the configuration.
pub fn client(globals: &Globals) -> Result<Client, CliError> {
    Ok(Client::new(target(globals)?)?)
}

fn target(globals: &Globals) -> Result<Target, CliError> {
    let environment = Environment::beside(&globals.config)?;
    let server = server_section(&globals.config, &environment, globals.token.as_ref());
    let tls = Tls {
        trust: globals.cacert.clone().map_or(Trust::Public, Trust::Authorities),
        identity: globals.client_cert.clone(),
    };
    if let Some(url) = &globals.admin {
        // With `--admin`, a configuration that cannot be read does not matter.
        let configured = || server.ok().flatten().and_then(|server| server.admin_token);
        let target = Target::at(url, globals.token.clone().or_else(configured))?;
        return Ok(target.with_tls(tls));
    }
    if let Some(server) = server? {
        let target = Target::listening_on(server.admin_listen, server.admin_token);
        return Ok(match server.admin_tls {
            Some(files) => target.by_tls(tls, files.cert),
            None => target,
        });
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ADMIN_PORT_DEFAULT));
    Ok(Target::listening_on(address, globals.token.clone()))
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

/// Notes on stderr that the list is longer than what was printed.
pub fn note_more(page: &impl Page) {
    if let Some(next) = page.next() {
        output::note(format_args!(
            "there are more results: use --cursor {next} or a larger --limit"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
