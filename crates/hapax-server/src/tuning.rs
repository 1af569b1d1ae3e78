//! What tests may set of a service, besides its configuration.

use std::sync::Arc;

use hapax_core::Clock;

use super::{INGEST_DRAIN, files};
use hapax_config::{self as config, Config};
use hapax_ingest as ingest;
use hapax_listen as listen;
use hapax_outbound::lookup::Lookup;

/// What may be set besides the configuration; tests tighten it.
#[derive(Clone)]
pub struct Tuning {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Of the ingest listener's connections.
    pub listen: listen::Limits,
    /// Of each delivery.
    pub ingest: ingest::Limits,
    /// Of the engine.
    pub engine: hapax_engine::Limits,
    /// How destinations' names are looked up.
    pub lookup: Lookup,
}

impl Tuning {
    /// As a configuration has it.
    pub fn of(config: &Config) -> Self {
        Self::within(config.server.limits)
    }

    fn within(config::Limits { listen, ingest }: config::Limits) -> Self {
        Self {
            clock: clock(),
            listen: listen::Limits {
                connections_max: files::connections_max(listen.connections_max),
                drain: INGEST_DRAIN,
                ..listen
            },
            ingest,
            engine: hapax_engine::Limits::default(),
            lookup: Lookup::system(),
        }
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self::within(config::Limits::default())
    }
}

#[cfg(not(feature = "fail-points"))]
fn clock() -> Arc<dyn Clock> {
    Arc::new(hapax_core::SystemClock::default())
}

/// A clock that a fault suite may move.
#[cfg(feature = "fail-points")]
fn clock() -> Arc<dyn Clock> {
    Arc::new(hapax_fail_points::MovableClock::default())
}

impl std::fmt::Debug for Tuning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tuning").finish_non_exhaustive()
    }
}
