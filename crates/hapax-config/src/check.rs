//! Checks that involve several tables.

use std::collections::{BTreeMap, BTreeSet};

use super::command_env;
use super::nearest::suggestion;
use super::report::Report;
use super::{Config, ReceiverKind, StoreUrl};
use hapax_api::size::format_size;

/// Reports settings that contradict each other. `declared` holds the names of all destinations, including those with
/// problems.
pub(super) fn check(config: &Config, declared: &BTreeSet<&str>, report: &mut Report<'_>) {
    bodies(config, report);
    routes(config, declared, report);
    destination_ids(config, report);
    shared_scopes(config, report);
    kinds(config, report);
    only_on_redis(config, report);
    never_on_a_cluster(config, report);
    handed_over(config, report);
    leftovers(config, report);
    receivers(config, report);
}

/// A body that exceeds the memory limits could never be delivered.
fn bodies(config: &Config, report: &mut Report<'_>) {
    let room = config.server.limits.body_bytes_max();
    let servers = ("server.body_limit".to_owned(), config.server.body_limit);
    let sources = config.sources.iter();
    let sources = sources.map(|(name, source)| (format!("sources.{name}.body_limit"), source.body_limit));
    if let Some((path, _)) = sources
        .chain([servers])
        .find(|(_, body_limit)| *body_limit > room)
    {
        report.problem(
            &path,
            format_args!(
                "[server.limits] only has room for bodies of {}; raise `unproven_bytes` to at least twice this limit, \
                 and `unproven_bytes_per_peer` and `proven_bytes` to at least this limit",
                format_size(room)
            ),
        );
    }
}

/// Only Redis answers before its replicas have stored an event.
fn only_on_redis(config: &Config, report: &mut Report<'_>) {
    let why = match &config.store.url {
        StoreUrl::Redis(_) => return,
        StoreUrl::Sqlite(_) => {
            "the store is a file, which has no replicas: acknowledged events are on its disk"
        }
        StoreUrl::Postgres(_) => {
            "the store is PostgreSQL, which waits for its standbys according to its own setting \
             `synchronous_standby_names`"
        }
    };
    for (name, source) in &config.sources {
        if source.redis_wait > 0 {
            report.problem(&format!("sources.{name}.redis"), format_args!("{why}; remove it"));
        }
    }
}

/// A lane spans shards on different masters. A failover may lose the last writes of one master but not of another.
fn never_on_a_cluster(config: &Config, report: &mut Report<'_>) {
    if !config.store.url.is_redis_cluster() {
        return;
    }
    for (name, destination) in &config.destinations {
        if destination.order_by.is_some() {
            report.problem(
                &format!("destinations.{name}.order_by"),
                "a Redis Cluster cannot guarantee an order: the events of a lane are on several masters, and a \
                 failover may lose the last writes of one master but not of the others; remove it, or use one Redis \
                 server, PostgreSQL or SQLite",
            );
        }
    }
}

/// A secret that a provider sends in its handshake is stored, and must be stored encrypted.
fn handed_over(config: &Config, report: &mut Report<'_>) {
    for (name, source) in &config.sources {
        if source.hands_secrets_over() && config.store.encryption.is_none() {
            report.problem(
                &format!("sources.{name}.provider"),
                "this provider sends its secret in a handshake, and the store must keep it encrypted; set \
                 `store.encryption_keys`, such as [\"env:HAPAX_ENCRYPTION_KEY\"] (`openssl rand -hex 32` generates \
                 one)",
            );
        }
    }
}

fn routes(config: &Config, declared: &BTreeSet<&str>, report: &mut Report<'_>) {
    for (name, source) in &config.sources {
        for (index, destination) in source.deliver_to.iter().enumerate() {
            if declared.contains(destination.as_str()) {
                continue;
            }
            let meant = suggestion(destination, declared.iter().copied());
            report.problem(
                &format!("sources.{name}.deliver_to.{index}"),
                format_args!("there is no [destinations.{destination}]{meant}"),
            );
        }
    }
}

/// Two destinations with one id would share idempotency keys, and one of them would miss events.
fn destination_ids(config: &Config, report: &mut Report<'_>) {
    let mut first_with: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, destination) in &config.destinations {
        let id = destination.id.as_str();
        if let Some(first) = first_with.insert(id, name) {
            let at = if id == name { first } else { name };
            report.problem(
                &format!("destinations.{at}.id"),
                format_args!("`{first}` and `{name}` have the same id `{id}`; each needs its own"),
            );
        }
    }
}

/// An event is accepted once per scope, through the source that receives it first, so all sources of a scope must have
/// the same destinations.
fn shared_scopes(config: &Config, report: &mut Report<'_>) {
    let mut first_with: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, source) in &config.sources {
        let scope = source.scope.as_str();
        let Some(first) = first_with.get(scope) else {
            first_with.insert(scope, name);
            continue;
        };
        let routes = |name: &str| -> BTreeSet<&String> {
            config
                .sources
                .get(name)
                .into_iter()
                .flat_map(|source| &source.deliver_to)
                .collect()
        };
        if routes(first) != routes(name) {
            report.problem(
                &format!("sources.{name}.deliver_to"),
                format_args!(
                    "`{first}` and `{name}` share the scope `{scope}`, so an event is delivered as the first one to \
                     receive it says; give both the same `deliver_to`, or separate scopes"
                ),
            );
        }
    }
}

/// What each kind of destination checks.
fn kinds(config: &Config, report: &mut Report<'_>) {
    for (name, destination) in &config.destinations {
        destination.kind.check(name, config, report);
    }
}

fn receivers(config: &Config, report: &mut Report<'_>) {
    for (name, receiver) in &config.alerts.receivers {
        if let ReceiverKind::Command { env, .. } = &receiver.kind {
            command_env::check(&format!("alerts.receivers.{name}"), env, report);
        }
    }
}

fn leftovers(config: &Config, report: &mut Report<'_>) {
    if config.sources.is_empty() && report.problems.is_empty() {
        report.warn(
            "sources",
            "there are none, so nothing is received; `hapax init PROVIDER` shows an example",
        );
    }
    for (name, source) in &config.sources {
        if source.deliver_to.is_empty() {
            report.warn(
                &format!("sources.{name}"),
                "`deliver_to` is empty: events are stored and delivered nowhere",
            );
        }
    }
    for name in config.destinations.keys() {
        if !config
            .sources
            .values()
            .any(|source| source.deliver_to.contains(name))
        {
            report.warn(&format!("destinations.{name}"), "no source delivers to it");
        }
    }
}
