//! The part of the configuration that the admin port shows, and what it needs to sign an exported event.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::access::Access;
use super::state::{DestinationSettings, Settings, SourceFacts};
use hapax_api::views::SourceView;
use hapax_config::{Config, Destination, Outbox, Source};
use hapax_config::{OUTBOX_LEDGER_WINDOW, OUTBOX_PAYLOAD_RETENTION};
use hapax_delivery::outbox::full_name;

impl From<&Config> for Settings {
    fn from(config: &Config) -> Self {
        Self {
            access: Access::new(
                config.server.admin_token.clone(),
                config.server.tokens.clone(),
                config.server.admin_listen,
            )
            .with_oidc(config.server.oidc.clone()),
            sources: config
                .sources
                .values()
                .map(|one| source(config, one))
                .chain(config.outboxes.values().map(outbox_source))
                .collect(),
            destinations: config
                .destinations
                .values()
                .map(destination)
                .chain(config.outboxes.values().map(outbox_destination))
                .collect(),
            written: config.to_sections(),
            facts: config
                .sources
                .iter()
                .map(|(name, source)| (name.clone(), facts(config, source)))
                .collect(),
        }
    }
}

fn facts(config: &Config, source: &Source) -> SourceFacts {
    SourceFacts {
        provider: source.provider,
        recipe: source.recipe.clone(),
        options: source.options.clone(),
        secret: source.secrets.first().cloned(),
        url: url(config, source.name.as_str()),
        redact: source.redact.clone(),
    }
}

/// The URL to enter at the provider, or a local one if no public URL is configured.
fn url(config: &Config, source: &str) -> String {
    match config.public_url_of(source) {
        url if url.is_empty() => {
            let scheme = if config.server.tls.is_some() {
                "https"
            } else {
                "http"
            };
            format!("{scheme}://{}/in/{source}", reachable(config.server.listen))
        }
        url => url,
    }
}

/// A service that listens on all addresses can be reached on loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    if !listen.ip().is_unspecified() {
        return listen;
    }
    let ip = match listen.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, listen.port())
}

fn source(config: &Config, source: &Source) -> SourceView {
    SourceView {
        name: source.name.to_string(),
        provider: source.provider.map(|provider| provider.name.clone()),
        scope: source.scope.to_string(),
        deliver_to: source.deliver_to.clone(),
        secrets: source.secrets.len(),
        ledger_window_seconds: source.ledger_window.as_secs(),
        payload_retention_seconds: source.payload_retention.as_secs(),
        dead_retention_seconds: source.dead_retention.as_secs(),
        indexed: source.indexed.clone(),
        scheme: Some(source.recipe.proof.summary()),
        event_id_rule: Some(source.recipe.identity.event_id.to_string()),
        id_class: Some(source.recipe.identity.class.to_string()),
        on_conflict: Some(source.recipe.identity.on_conflict.as_str().to_owned()),
        console_url: Some(config.public_url_of(source.name.as_str())).filter(|url| !url.is_empty()),
        takes_registrations: source.hands_secrets_over(),
        refusals: Vec::new(),
    }
}

/// An outbox is a source of events, and the destination of rows that name a URL.
fn outbox_source(outbox: &Outbox) -> SourceView {
    SourceView {
        name: full_name(&outbox.name),
        provider: None,
        scope: full_name(&outbox.name),
        deliver_to: Vec::new(),
        secrets: 0,
        ledger_window_seconds: OUTBOX_LEDGER_WINDOW.as_secs(),
        payload_retention_seconds: OUTBOX_PAYLOAD_RETENTION.as_secs(),
        dead_retention_seconds: OUTBOX_LEDGER_WINDOW.as_secs(),
        indexed: Vec::new(),
        scheme: None,
        event_id_rule: None,
        id_class: None,
        on_conflict: None,
        console_url: None,
        takes_registrations: false,
        refusals: Vec::new(),
    }
}

fn outbox_destination(outbox: &Outbox) -> DestinationSettings {
    let name = full_name(&outbox.name);
    DestinationSettings {
        id: name.as_str().into(),
        name,
        kind: "http".to_owned(),
        target: outbox.url.to_string(),
    }
}

fn destination(destination: &Destination) -> DestinationSettings {
    DestinationSettings {
        name: destination.name.clone(),
        id: destination.id.clone(),
        kind: destination.kind.as_str().to_owned(),
        target: destination.kind.target(),
    }
}
