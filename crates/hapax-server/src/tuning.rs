//! Settings of a service outside its configuration, for tests.

use std::sync::Arc;

use hapax_core::Clock;

use super::{INGEST_DRAIN, files};
use hapax_config::{self as config, Config};
use hapax_ingest as ingest;
use hapax_listen as listen;
use hapax_outbound::lookup::Lookup;

/// Settings outside the configuration; tests tighten them.
#[derive(Clone)]
pub struct Tuning {
    pub clock: Arc<dyn Clock>,
    /// Of the ingest listener's connections.
    pub listen: listen::Limits,
    /// Of each webhook request.
    pub ingest: ingest::Limits,
    pub engine: hapax_engine::Limits,
    /// How the names of destinations are resolved.
    pub lookup: Lookup,
}

impl Tuning {
    /// The values that a configuration implies.
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

/// A clock that a fault suite may set.
#[cfg(feature = "fail-points")]
fn clock() -> Arc<dyn Clock> {
    Arc::new(hapax_fail_points::MovableClock::default())
}

impl std::fmt::Debug for Tuning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tuning").finish_non_exhaustive()
    }
}
