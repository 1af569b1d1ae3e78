//! Parsing the database's URL. Parameters that the client library does not know (`verify-ca`, `verify-full`,
//! `sslrootcert`) are removed first, and so is our own (`prepared_statements`).

use std::net::IpAddr;
use std::path::PathBuf;

use hapax_core::percent;
use tokio_postgres::config::{Host, SslMode};

use crate::Preparing;

/// How much of the server's certificate is checked, as libpq means it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nothing: the connection is encrypted, but the other end could be anyone.
    Anyone,
    /// That one of these authorities has signed it.
    Authority(Roots),
    /// That, and that it was issued for the host's name.
    Name(Roots),
}

/// Which authorities to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Those of the operating system, or those that browsers trust if it has none.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) trust: Trust,
    /// Whether the URL does not mention TLS, and the certificate is verified because the host is not local.
    pub(crate) verified_by_default: bool,
    /// Whether statements are prepared, if the URL says so.
    pub(crate) preparing: Option<Preparing>,
}

/// Parses a URL. The reason for a refusal never quotes it, since it may hold a password.
pub(crate) fn read(url: &str) -> Result<Target, String> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("it does not begin with postgres://".to_owned());
    }
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let mut mode = None;
    let mut roots = Roots::System;
    let mut preparing = None;
    let mut rest: Vec<&str> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value),
            Some(("sslrootcert", "system")) => roots = Roots::System,
            Some(("prepared_statements", "true")) => preparing = Some(Preparing::Always),
            Some(("prepared_statements", "false")) => preparing = Some(Preparing::Never),
            Some(("prepared_statements", _)) => {
                return Err("its prepared_statements is neither true nor false".to_owned());
            }
            Some(("sslrootcert", value)) => roots = Roots::File(PathBuf::from(decode(value)?)),
            _ => rest.push(pair),
        }
    }
    let plain = if rest.is_empty() {
        place.to_owned()
    } else {
        format!("{place}?{}", rest.join("&"))
    };
    let mut config: tokio_postgres::Config = plain
        .parse()
        .map_err(|_| "it is not postgres://user:password@host:port/database".to_owned())?;
    let verified_by_default = mode.is_none() && !is_local(&config);
    let default = if verified_by_default {
        "verify-full"
    } else {
        "prefer"
    };
    let (ssl_mode, trust) = match mode.unwrap_or(default) {
        "disable" => (SslMode::Disable, Trust::Anyone),
        "prefer" | "allow" => (SslMode::Prefer, Trust::Anyone),
        // As in libpq: naming authorities implies that they are checked.
        "require" => match roots {
            Roots::System => (SslMode::Require, Trust::Anyone),
            Roots::File(_) => (SslMode::Require, Trust::Authority(roots)),
        },
        "verify-ca" => (SslMode::Require, Trust::Authority(roots)),
        "verify-full" => (SslMode::Require, Trust::Name(roots)),
        _ => {
            return Err(
                "its sslmode is not one of disable, prefer, require, verify-ca and verify-full".to_owned(),
            );
        }
    };
    config.ssl_mode(ssl_mode);
    Ok(Target {
        config,
        trust,
        verified_by_default,
        preparing,
    })
}

/// The URL with another host and port in it.
pub(crate) fn at_host(url: &str, host: &str, port: u16) -> String {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, place) = place.split_once("://").unwrap_or(("postgres", place));
    let (server, database) = place.split_once('/').unwrap_or((place, ""));
    let user = server
        .rsplit_once('@')
        .map_or(String::new(), |(user, _)| format!("{user}@"));
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    let names_host = |pair: &&str| {
        ["host=", "port=", "hostaddr="]
            .iter()
            .any(|name| pair.starts_with(name))
    };
    let query: Vec<&str> = query.split('&').filter(|pair| !names_host(pair)).collect();
    format!("{scheme}://{user}{host}:{port}/{database}?{}", query.join("&"))
}

/// Whether every host is this machine, so that nothing crosses a network.
fn is_local(config: &tokio_postgres::Config) -> bool {
    let is_named_so = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(is_named_so) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// Percent-decoding of one value.
fn decode(text: &str) -> Result<String, String> {
    percent::decode(text).map_err(|_| "a value in it is not percent-encoded text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_leads_to_another_host_with_everything_else_unchanged() {
        for (url, expected) in [
            (
                "postgres://me:p%40ss@db:5433/hapax?sslmode=require",
                "postgres://me:p%40ss@w:6000/hapax?sslmode=require",
            ),
            (
                "postgres://db/hapax?host=a&port=1&options=x",
                "postgres://w:6000/hapax?options=x",
            ),
            ("postgresql://a:1,b:2/hapax", "postgresql://w:6000/hapax?"),
        ] {
            assert_eq!(at_host(url, "w", 6000), expected);
            assert!(read(&at_host(url, "::1", 6000)).is_ok(), "{url}");
        }
    }

    #[test]
    fn modes_mean_what_libpq_says() {
        let file = || Roots::File(PathBuf::from("/a b.pem"));
        for (query, mode, trust) in [
            ("", SslMode::Require, Trust::Name(Roots::System)),
            ("?sslrootcert=/a%20b.pem", SslMode::Require, Trust::Name(file())),
            ("?sslmode=prefer", SslMode::Prefer, Trust::Anyone),
            ("?sslmode=disable", SslMode::Disable, Trust::Anyone),
            ("?sslmode=require", SslMode::Require, Trust::Anyone),
            (
                "?sslmode=require&sslrootcert=/a%20b.pem",
                SslMode::Require,
                Trust::Authority(file()),
            ),
            (
                "?sslmode=verify-ca",
                SslMode::Require,
                Trust::Authority(Roots::System),
            ),
            (
                "?application_name=x&sslmode=verify-full&sslrootcert=/a%20b.pem",
                SslMode::Require,
                Trust::Name(file()),
            ),
        ] {
            let target = read(&format!("postgres://me:secret@db:5433/hapax{query}")).unwrap();
            assert_eq!(
                (target.config.get_ssl_mode(), target.trust),
                (mode, trust),
                "{query}"
            );
            assert_eq!(target.config.get_ports(), [5433]);
        }
    }

    #[test]
    fn a_certificate_is_verified_by_default_unless_every_host_is_this_machine() {
        for (url, verified) in [
            ("postgres://me@localhost/hapax", false),
            ("postgres://me@127.0.0.2:5433/hapax", false),
            ("postgres://me@[::1]/hapax", false),
            ("postgres://me@%2Frun%2Fpostgresql/hapax", false),
            ("postgres:///hapax?host=/run/postgresql", false),
            ("postgres://me@localhost,db/hapax", true),
            ("postgres://me@10.0.0.5/hapax", true),
            ("postgres://me@localhost.example.com/hapax", true),
            ("postgres://me@localhost/hapax?hostaddr=10.0.0.5", true),
            ("postgres://me@db/hapax?hostaddr=127.0.0.1", true),
            ("postgres://me@db/hapax?sslmode=prefer", false),
        ] {
            assert_eq!(read(url).unwrap().verified_by_default, verified, "{url}");
        }
    }

    #[test]
    fn a_url_says_whether_statements_are_prepared() {
        for (query, preparing) in [
            ("", None),
            ("?prepared_statements=true", Some(Preparing::Always)),
            (
                "?sslmode=disable&prepared_statements=false",
                Some(Preparing::Never),
            ),
        ] {
            let target = read(&format!("postgres://me@db/hapax{query}")).unwrap();
            assert_eq!(target.preparing, preparing, "{query}");
        }
        read("postgres://me@db/hapax?prepared_statements=perhaps").unwrap_err();
    }

    #[test]
    fn a_refusal_never_quotes_the_url() {
        for url in [
            "mysql://me:secret@db",
            "postgres://me:secret@db:nonsense/hapax",
            "postgres://me:secret@db/hapax?sslmode=secret",
            "postgres://me:secret@db/hapax?sslrootcert=%zz",
        ] {
            let reason = read(url).unwrap_err();
            assert!(!reason.contains("secret"), "{reason}");
        }
    }
}
