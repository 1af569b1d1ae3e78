//! Destinations: the transport that the engine delivers through, built from the configuration. Each kind has its own
//! folder, and a line in [`kind`].

mod batch_headers;
pub mod command;
mod contract;
mod excerpt;
pub mod http;
mod order;
mod plan;
pub mod sql;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use hapax_core::{DestinationId, ErrorClass, Leased};
use hapax_engine::{AttemptResult, Transport};

pub use batch_headers::BatchHeaders;
pub use command::CommandTarget;
pub use contract::{DestinationKind, SetupError, Shared, Unreachable};
use hapax_config::{Destination, Kind};
pub use http::{Address, HttpTarget, signer};
pub use order::FieldOrder;
pub use plan::{routing, targets};

/// What a destination of its kind can do. Every kind is registered here.
pub fn kind(destination: &Destination) -> &dyn DestinationKind {
    match &destination.kind {
        Kind::Http(http) => http,
        Kind::Command(command) => command,
        Kind::Sql(sql) => &**sql,
    }
}

/// What makes the attempts of each destination.
pub type Targets = HashMap<DestinationId, Arc<dyn Transport>>;

/// All destinations; swapped whole on a reload.
#[derive(Default)]
pub struct Destinations {
    targets: ArcSwap<Targets>,
}

impl Destinations {
    pub fn new(targets: Targets) -> Self {
        Self {
            targets: ArcSwap::from_pointee(targets),
        }
    }

    /// Replaces the targets from the next attempt on. Running attempts finish with the target they started with.
    pub fn reconfigure(&self, targets: Targets) {
        self.targets.store(Arc::new(targets));
    }
}

impl fmt::Debug for Destinations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.targets.load().keys()).finish()
    }
}

#[async_trait]
impl Transport for Destinations {
    async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        let target = self.targets.load().get(&delivery.destination).cloned();
        match target {
            Some(target) => target.deliver(delivery).await,
            // A reload removed it after the delivery was leased; the engine stops leasing for it.
            None => AttemptResult::failed(ErrorClass::Connect, "the destination is no longer configured"),
        }
    }
}
