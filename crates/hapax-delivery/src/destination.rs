//! Destinations: the transport that the engine delivers through, built from the configuration.

mod answer;
mod batch_headers;
pub mod command;
mod excerpt;
pub mod http;
mod order;
mod plan;
mod retry_after;
pub mod sql;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use hapax_core::{DestinationId, ErrorClass, Leased};
use hapax_engine::{AttemptResult, Transport};

pub use batch_headers::BatchHeaders;
pub use command::CommandTarget;
pub use http::{Address, HttpTarget};
pub use order::FieldOrder;
pub use plan::signer;
pub use plan::{SetupError, routing, targets};
pub use sql::SqlTarget;

/// How one destination is reached.
#[derive(Debug)]
pub enum Target {
    Http(Box<HttpTarget>),
    Command(CommandTarget),
    Sql(SqlTarget),
}

/// All destinations; swapped whole on a reload.
#[derive(Debug, Default)]
pub struct Destinations {
    targets: ArcSwap<HashMap<DestinationId, Arc<Target>>>,
}

impl Destinations {
    pub fn new(targets: HashMap<DestinationId, Arc<Target>>) -> Self {
        Self {
            targets: ArcSwap::from_pointee(targets),
        }
    }

    /// Replaces the targets from the next attempt on. Running attempts finish with the target they started with.
    pub fn reconfigure(&self, targets: HashMap<DestinationId, Arc<Target>>) {
        self.targets.store(Arc::new(targets));
    }
}

#[async_trait]
impl Transport for Destinations {
    async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        let target = self.targets.load().get(&delivery.destination).cloned();
        match target.as_deref() {
            Some(Target::Http(target)) => target.deliver(delivery).await,
            Some(Target::Command(target)) => target.deliver(delivery).await,
            Some(Target::Sql(target)) => target.deliver(delivery).await,
            // A reload removed it after the delivery was leased; the engine stops leasing for it.
            None => AttemptResult::failed(ErrorClass::Connect, "the destination is no longer configured"),
        }
    }
}
