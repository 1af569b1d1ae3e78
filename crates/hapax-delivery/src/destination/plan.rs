//! Turns the configuration into what the engine and the transport need.

mod outbox;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Clock, DestinationId, SourceName};
use hapax_engine::{OnConflict, OrderBy, Pattern, Rate, Route, Routing};
use hapax_verify::catalogue;
use hapax_verify::sign::Signer;

use super::{Address, BatchHeaders, CommandTarget, FieldOrder, HttpTarget, SqlTarget, Target};
use hapax_config::{self as config, Config, Events, Kind};
use hapax_outbound::client::Client;
use hapax_telemetry::traces::context::Propagation;

/// The scheme that signs outgoing requests.
const SIGNING_PROVIDER: &str = "standard-webhooks";
/// How long an attempt may outlive its timeout before the engine drops it: time to report what happened.
const DEADLINE_GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("destination `{destination}`: {source}")]
    Secret {
        destination: String,
        source: hapax_verify::SetupError,
    },
    /// The database URL is invalid.
    #[error("destination `{destination}`: its `url` cannot be used: {why}")]
    Database {
        destination: String,
        /// The reason; it never quotes the URL.
        why: String,
    },
    #[error("the catalogue has no `{SIGNING_PROVIDER}`, which signs outgoing requests")]
    NoScheme,
}

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
) -> Result<HashMap<DestinationId, Arc<Target>>, SetupError> {
    let batch_headers: Arc<HashMap<SourceName, BatchHeaders>> = Arc::new(
        config
            .sources
            .values()
            .map(|source| (source.name.clone(), BatchHeaders::of(&source.recipe)))
            .collect(),
    );
    let target = |destination: &config::Destination| {
        let target = match &destination.kind {
            Kind::Http {
                url,
                secret,
                key_form,
            } => Target::Http(Box::new(HttpTarget {
                url: Address::Fixed(url.clone()),
                signer: secret
                    .as_ref()
                    .map(|secret| signer(&destination.name, secret.expose()))
                    .transpose()?,
                timeout: destination.timeout,
                client: client.clone(),
                clock: Arc::clone(clock),
                key_form: *key_form,
                batch_headers: Arc::clone(&batch_headers),
                propagation,
            })),
            Kind::Command { argv, env } => Target::Command(CommandTarget {
                argv: argv.clone(),
                env: env.clone(),
                timeout: destination.timeout,
                propagation,
            }),
            Kind::Sql(sql) => {
                let target = SqlTarget::new(&destination.id, destination.timeout, sql);
                Target::Sql(target.map_err(|why| SetupError::Database {
                    destination: destination.name.clone(),
                    why,
                })?)
            }
        };
        Ok((destination.id.clone(), Arc::new(target)))
    };
    let mut targets: HashMap<_, _> = config
        .destinations
        .values()
        .map(target)
        .collect::<Result<_, _>>()?;
    for one in config.outboxes.values() {
        let (id, target) = outbox::target(one, client, clock, &batch_headers)?;
        let target = HttpTarget {
            propagation,
            ..target
        };
        targets.insert(id, Arc::new(Target::Http(Box::new(target))));
    }
    Ok(targets)
}

pub fn signer(destination: &str, secret: &str) -> Result<Signer, SetupError> {
    let provider = catalogue::get(SIGNING_PROVIDER).ok_or(SetupError::NoScheme)?;
    let scheme = provider.proof.scheme().ok_or(SetupError::NoScheme)?;
    Signer::new(scheme, secret).map_err(|source| SetupError::Secret {
        destination: destination.to_owned(),
        source,
    })
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
        remembers: match &destination.kind {
            Kind::Sql(sql) => Some(sql.inbox_retention),
            Kind::Http { .. } | Kind::Command { .. } => None,
        },
    }
}

const fn rate(rate: config::Rate) -> Rate {
    Rate {
        count: rate.count,
        per: rate.per,
    }
}
