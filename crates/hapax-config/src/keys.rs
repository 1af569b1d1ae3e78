//! Every table of `hapax.toml`. Each is declared next to its reader.

pub use super::alerts::ALERTS;
use super::alerts::RECEIVER;
use super::attempts::BACKOFF;
pub use super::destination::DESTINATION;
use super::destination::PARAM;
use super::limits::LIMITS;
use super::oidc::OIDC;
use super::outbox::OUTBOX;
pub use super::server::{SERVER, STORE};
pub use super::setting::{AnyKey, Facts, Table};
pub use super::source::SOURCE;
use super::source::{REDIS, VERIFY};
use super::tls::{ADMIN_TLS, TLS};
use super::tokens::TOKEN;
use super::traces::TRACES;

/// Every table, in the reference page's order.
pub static ALL: [&Table; 17] = [
    &SERVER,
    &LIMITS,
    &TOKEN,
    &TLS,
    &ADMIN_TLS,
    &OIDC,
    &STORE,
    &SOURCE,
    &VERIFY,
    &REDIS,
    &DESTINATION,
    &PARAM,
    &BACKOFF,
    &OUTBOX,
    &ALERTS,
    &RECEIVER,
    &TRACES,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_key_is_named_twice() {
        for table in ALL {
            assert_eq!(
                table.names().collect::<BTreeSet<_>>().len(),
                table.keys.len(),
                "{}",
                table.header
            );
        }
    }

    #[test]
    fn every_default_and_range_can_be_read() {
        for table in ALL {
            for key in table.keys {
                assert_eq!(key.check(), Ok(()), "{} {}", table.header, key.facts().name);
            }
        }
    }
}
