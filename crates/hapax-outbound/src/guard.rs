//! Which addresses a client may call. They are checked when a connection is made, because a name is only as safe as the
//! address it resolves to at that moment.
//!
//! Destinations that the operator configured may be at any address that is not forbidden. URLs that come from data,
//! such as an outbox's rows, may lead only to the public Internet and to targets that the operator allowed, and never
//! to Hapax itself: permission to write a row must not give access to everything that this process can reach.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use hapax_config::AllowedTargets;
use hapax_config::address::{is_forbidden, is_not_public, normal};

/// Which addresses a client may call.
#[derive(Clone, Debug)]
pub(crate) enum Guard {
    /// Any: the operator names it on the command line.
    Open,
    /// Any that is not forbidden: the operator configured the destination.
    Configured,
    /// Those that an outbox's rows may name.
    Rows(Arc<Rows>),
}

#[derive(Debug)]
pub(crate) struct Rows {
    /// The outbox's name.
    pub outbox: String,
    pub allowed: AllowedTargets,
    /// The addresses on which this process listens.
    pub listeners: Vec<SocketAddr>,
}

/// An address that may not be called.
#[derive(Debug, thiserror::Error)]
#[error("the destination's host resolves to {address}, which is not an allowed target: {reason}")]
pub struct Blocked {
    address: IpAddr,
    reason: String,
}

impl Guard {
    /// Whether `host`, which resolved to this address, may be called.
    pub(crate) fn check(&self, host: &str, address: SocketAddr) -> Result<(), Blocked> {
        match self.reason(host, address) {
            None => Ok(()),
            Some(reason) => Err(Blocked {
                address: address.ip(),
                reason,
            }),
        }
    }

    fn reason(&self, host: &str, address: SocketAddr) -> Option<String> {
        let ip = address.ip();
        let forbidden = is_forbidden(ip).map(str::to_owned);
        let rows = match self {
            Self::Open => return None,
            Self::Configured => return forbidden,
            Self::Rows(rows) => rows,
        };
        if forbidden.is_some() {
            return forbidden;
        }
        if rows.listeners.iter().any(|listener| reaches(*listener, address)) {
            return Some("it is a listener of Hapax itself, which outbox rows may not call".to_owned());
        }
        let reason = is_not_public(ip).filter(|_| !rows.allowed.allow(host, ip))?;
        Some(format!(
            "{reason}, and outbox rows may only call public addresses; to allow it, add the host or its range to \
             `allow_targets` of [outbox.{}] in hapax.toml",
            rows.outbox
        ))
    }
}

/// Whether a connection to `address` reaches this listener.
fn reaches(listener: SocketAddr, address: SocketAddr) -> bool {
    let ip = normal(address.ip());
    listener.port() == address.port()
        && (normal(listener.ip()) == ip || (listener.ip().is_unspecified() && is_of_this_machine(ip)))
}

/// A socket can be bound only to an address of this machine.
fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(listener: &str) -> Guard {
        Guard::Rows(Arc::new(Rows {
            outbox: "app".to_owned(),
            allowed: AllowedTargets::default(),
            listeners: vec![listener.parse().unwrap()],
        }))
    }

    #[test]
    fn a_listener_is_reached_under_every_address_that_leads_to_it() {
        for (listener, address, is_reached) in [
            ("127.0.0.1:8081", "127.0.0.1:8081", true),
            ("127.0.0.1:8081", "[::ffff:127.0.0.1]:8081", true),
            ("127.0.0.1:8081", "[64:ff9b::7f00:1]:8081", true),
            ("127.0.0.1:8081", "127.0.0.1:8082", false),
            ("127.0.0.1:8081", "127.0.0.2:8081", false),
            ("0.0.0.0:8081", "127.0.0.2:8081", true),
            ("[::]:8081", "127.0.0.1:8081", true),
            ("[::]:8081", "[::1]:8081", true),
            ("0.0.0.0:8081", "198.51.100.7:8081", false),
            ("10.0.0.5:8081", "10.0.0.5:8081", true),
        ] {
            let (one, other) = (listener.parse().unwrap(), address.parse().unwrap());
            assert_eq!(reaches(one, other), is_reached, "{address} at {listener}");
        }
    }

    #[test]
    fn rows_reach_public_addresses_and_the_configuration_reaches_more() {
        for (address, of_rows, configured) in [
            ("93.184.216.34:443", true, true),
            ("127.0.0.1:3000", false, true),
            ("10.0.0.1:80", false, true),
            ("[fd00::1]:80", false, true),
            ("169.254.169.254:80", false, false),
            ("93.184.216.34:8081", true, true),
        ] {
            let parsed = address.parse().unwrap();
            let guard = rows("127.0.0.1:8081");
            assert_eq!(guard.check("example.com", parsed).is_ok(), of_rows, "{address}");
            let guard = Guard::Configured;
            assert_eq!(
                guard.check("example.com", parsed).is_ok(),
                configured,
                "{address}"
            );
            assert!(Guard::Open.check("example.com", parsed).is_ok(), "{address}");
        }
    }
}
