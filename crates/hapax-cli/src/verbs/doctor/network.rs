//! Whether the TLS files can be used, and whether allow lists see the providers' addresses.

use std::net::IpAddr;

use super::check::Check;
use hapax_config::{Config, Tls};
use hapax_listen as listen;
use hapax_telemetry::TlsMeter;

pub(super) fn check(config: &Config) -> Vec<Check> {
    let server = &config.server;
    let admin = server
        .admin_tls
        .as_ref()
        .filter(|files| Some(*files) != server.tls.as_ref());
    let both = [("server.tls", server.tls.as_ref()), ("server.admin_tls", admin)];
    let mut checks: Vec<Check> = both
        .into_iter()
        .filter_map(|(key, files)| Some(files_of(key, files?)))
        .collect();
    checks.extend(allow_lists(config));
    checks
}

fn files_of(key: &str, files: &Tls) -> Check {
    let name = format!("TLS ({key})");
    match listen::Tls::load(files.clone(), TlsMeter::default()) {
        Ok(_) => Check::ok(name, format!("{} matches its key", files.cert.display())),
        Err(error) => Check::fail(
            name,
            error.to_string(),
            format!("put a certificate and its key in PEM format at the paths in [{key}]"),
        ),
    }
}

/// A port that only this machine or this network can reach is behind a proxy, so only the proxy's address is seen.
fn allow_lists(config: &Config) -> Option<Check> {
    let listen = config.server.listen.ip();
    if !config.server.trusted_proxies.is_empty() || !is_inside(listen) {
        return None;
    }
    let sources: Vec<&str> = config
        .sources
        .values()
        .filter(|source| {
            source
                .allow_from
                .as_ref()
                .is_some_and(|allowed| !allowed.allows(listen))
        })
        .map(|source| source.name.as_str())
        .collect();
    (!sources.is_empty()).then(|| {
        Check::warn(
            "allow lists",
            format!(
                "{} has `allow_from`, and {} is reached through a proxy, so only the proxy's address is visible: every \
                 request will be answered 403",
                sources.join(", "),
                config.server.listen
            ),
            "add the proxy under [server], such as trusted_proxies = [\"127.0.0.1\"], and configure it to set \
             X-Forwarded-For",
        )
    })
}

fn is_inside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::verbs::doctor::check::Outcome;
    use hapax_config::{self as config, Environment};

    fn checked(server: &str) -> Vec<Check> {
        let text = format!(
            "[server]\n{server}\n[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"whsec_x\"]\nallow_from = [\"provider\"]\n"
        );
        check(&config::parse(&text, Path::new("hapax.toml"), &Environment::with([]), &[]).unwrap())
    }

    #[test]
    fn a_list_that_would_only_ever_see_a_proxy_is_warned_about() {
        for listen in ["127.0.0.1:8080", "10.1.2.3:8080", "[fd00::1]:8080"] {
            let found = checked(&format!("listen = \"{listen}\""));
            assert!(
                matches!(found.as_slice(), [one] if one.outcome == Outcome::Warn),
                "{found:?}"
            );
        }
        assert!(checked("listen = \"0.0.0.0:8080\"").is_empty());
        assert!(checked("trusted_proxies = [\"127.0.0.1\"]").is_empty());
    }

    #[test]
    fn files_that_cannot_be_used_are_a_problem() {
        let found =
            checked("trusted_proxies = [\"::1\"]\ntls = { cert = \"/absent.crt\", key = \"/absent.key\" }");
        assert!(
            matches!(found.as_slice(), [one] if one.outcome == Outcome::Fail),
            "{found:?}"
        );
        assert!(found[0].detail.contains("/absent.crt"), "{found:?}");
    }
}
