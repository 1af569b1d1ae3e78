//! What every kind of destination does.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Clock, SourceName};
use hapax_engine::Transport;

use super::BatchHeaders;
use hapax_config::Destination;
use hapax_outbound::client::Client;
use hapax_telemetry::traces::SpanTarget;
use hapax_telemetry::traces::context::Propagation;

/// A kind of destination. Its settings implement this.
#[async_trait]
pub trait DestinationKind: Sync {
    /// Starts what makes the attempts. It connects to nothing before the first event.
    fn start(&self, destination: &Destination, shared: &Shared) -> Result<Arc<dyn Transport>, SetupError>;

    /// Whether deliveries can succeed now: what was found, for people. Nothing is delivered.
    async fn check(&self) -> Result<String, Unreachable>;

    /// How spans describe an attempt.
    fn span_target(&self) -> SpanTarget;

    /// How long the destination itself remembers an event that it has applied; `None` if it does not.
    fn remembers(&self) -> Option<Duration>;
}

/// What destinations share.
pub struct Shared {
    /// The connection pool for HTTP.
    pub client: Client,
    pub clock: Arc<dyn Clock>,
    /// Whether and how the event's trace context is passed on.
    pub propagation: Propagation,
    /// The headers of each source that must not reach a destination.
    pub batch_headers: Arc<HashMap<SourceName, BatchHeaders>>,
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("destination `{destination}`: {source}")]
    Secret {
        destination: String,
        source: hapax_verify::SetupError,
    },
    /// A setting is invalid.
    #[error("destination `{destination}`: {why}")]
    Setting {
        destination: String,
        /// The reason; it never quotes a secret.
        why: String,
    },
    #[error("the catalogue has no `{0}`, which signs outgoing requests")]
    NoScheme(&'static str),
}

/// Why deliveries would fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    pub problem: String,
    pub fix: String,
}
