//! The routing, compiled: every source with the run-time state of its destinations.

use std::collections::HashMap;
use std::sync::Arc;

use hapax_core::{DestinationId, SourceName};

use crate::destination_runtime::DestinationRuntime;
use crate::pauses::Pauses;
use crate::rate::Bucket;
use crate::routing::{Route, Routing};

/// The compiled routing that accept and dispatch look up.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) sources: HashMap<SourceName, Arc<Source>>,
    pub(crate) destinations: HashMap<DestinationId, Arc<DestinationRuntime>>,
}

/// A source, with the run-time state of its destinations at hand.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) route: Route,
    pub(crate) destinations: Vec<Arc<DestinationRuntime>>,
    pub(crate) bucket: Option<Bucket>,
}

impl Plan {
    /// Compiles a routing. Destinations that existed before keep their permits, breaker and pause.
    pub(crate) fn new(routing: Routing, old: &Self, pauses: &Pauses) -> Self {
        let destinations: HashMap<_, _> = routing
            .destinations
            .into_iter()
            .map(|(id, destination)| {
                let runtime = if let Some(runtime) = old.destinations.get(&id) {
                    runtime.reconfigure(destination);
                    Arc::clone(runtime)
                } else {
                    Arc::new(DestinationRuntime::new(destination, pauses.of(&id)))
                };
                (id, runtime)
            })
            .collect();
        let sources = routing
            .sources
            .into_iter()
            .map(|(name, route)| {
                let source = Source {
                    destinations: route
                        .deliver_to
                        .iter()
                        .filter_map(|id| destinations.get(id).cloned())
                        .collect(),
                    bucket: route.rate.map(Bucket::new),
                    route,
                };
                (name, Arc::new(source))
            })
            .collect();
        Self {
            sources,
            destinations,
        }
    }
}
