//! Turns the configuration into what the engine and the transport need.

mod outbox;

use std::sync::Arc;
use std::time::Duration;

use hapax_core::Clock;
use hapax_engine::{OnConflict, OrderBy, Pattern, Rate, Route, Routing};

use super::{BatchHeaders, FieldOrder, SetupError, Shared, Targets, kind};
use hapax_config::{self as config, Config, Events};
use hapax_outbound::client::Client;
use hapax_telemetry::traces::context::Propagation;

/// How long an attempt may outlive its timeout before the engine drops it: time to report what happened.
const DEADLINE_GRACE: Duration = Duration::from_secs(1);

/// Which sources feed which destinations, and the settings of each destination.
pub fn routing(config: &Config) -> Routing {
    let sources = config.sources.values().map(|source| {
        let ids = source
            .deliver_to
            .iter()
            .filter_map(|name| config.destinations.get(name));
        let route = Route {
            scope: source.scope.clone(),
            deliver_to: ids.map(|destination| destination.id.clone()).collect(),
            ledger_window: source.ledger_window,
            payload_retention: source.payload_retention,
            dead_retention: source.dead_retention,
            rate: source.rate_limit.map(rate),
            id_is_signed: source.verifier.id_is_signed(),
            same_body: source.same_body,
            indexed: source.indexed.clone(),
            on_conflict: match source.recipe.identity.on_conflict {
                hapax_verify::OnConflict::Keep => OnConflict::Keep,
                hapax_verify::OnConflict::Accept => OnConflict::Accept,
            },
        };
        (source.name.clone(), route)
    });
    let destinations = config
        .destinations
        .values()
        .map(|one| (one.id.clone(), treatment(one)));
    let mut routing = Routing {
        sources: sources.collect(),
        destinations: destinations.collect(),
    };
    outbox::route(config, &mut routing);
    routing
}

pub fn targets(
    config: &Config,
    client: &Client,
    clock: &Arc<dyn Clock>,
    propagation: Propagation,
) -> Result<Targets, SetupError> {
    let sources = config.sources.values();
    let batch_headers = sources.map(|source| (source.name.clone(), BatchHeaders::of(&source.recipe)));
    let shared = Shared {
        client: client.clone(),
        clock: Arc::clone(clock),
        propagation,
        batch_headers: Arc::new(batch_headers.collect()),
    };
    let mut targets = Targets::new();
    for destination in config.destinations.values() {
        let target = kind(destination).start(destination, &shared)?;
        targets.insert(destination.id.clone(), target);
    }
    for outbox in config.outboxes.values() {
        let (id, target) = outbox::target(outbox, &shared)?;
        targets.insert(id, Arc::new(target));
    }
    Ok(targets)
}

fn treatment(destination: &config::Destination) -> hapax_engine::Destination {
    hapax_engine::Destination {
        id: destination.id.clone(),
        events: match &destination.events {
            Events::All => Vec::new(),
            Events::Matching(patterns) => patterns
                .iter()
                .map(|pattern| Pattern::new(pattern.as_str()))
                .collect(),
        },
        concurrency: destination.concurrency,
        rate: destination.rate_limit.map(rate),
        attempts_max: destination.max_attempts,
        backoff: destination.backoff,
        lease: destination.lease,
        deadline: destination.timeout + DEADLINE_GRACE,
        order_by: destination
            .order_by
            .clone()
            .map(|field| Arc::new(FieldOrder::new(field)) as Arc<dyn OrderBy>),
        on_dead: destination.on_dead,
        remembers: kind(destination).remembers(),
    }
}

const fn rate(rate: config::Rate) -> Rate {
    Rate {
        count: rate.count,
        per: rate.per,
    }
}
