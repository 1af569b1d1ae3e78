//! The top level of `hapax.toml`: the tables of the file.

use super::setting::{Key, Table};

pub(super) static TOP_SERVER: Key<toml::Table> = Key::optional("server", "The listeners.");
pub(super) static TOP_STORE: Key<toml::Table> = Key::optional("store", "Where events are stored.");
pub(super) static TOP_SOURCES: Key<toml::Table> =
    Key::optional("sources", "The providers that send webhooks, one table each.");
pub(super) static TOP_DESTINATIONS: Key<toml::Table> =
    Key::optional("destinations", "Where events are delivered, one table each.");
pub(super) static TOP_OUTBOX: Key<toml::Table> = Key::optional(
    "outbox",
    "Databases whose `hapax_outbox` is relayed, one table each.",
);
pub(super) static TOP_ALERTS: Key<toml::Table> = Key::optional("alerts", "Alert rules and receivers.");
pub(super) static TOP_TRACES: Key<toml::Table> =
    Key::optional("traces", "Where OpenTelemetry traces are sent.");

/// The top-level tables, in the order of `config show`.
pub(super) static TOP: Table = Table {
    header: "hapax.toml",
    help: "The tables of the file.",
    keys: &[
        &TOP_SERVER,
        &TOP_STORE,
        &TOP_SOURCES,
        &TOP_DESTINATIONS,
        &TOP_OUTBOX,
        &TOP_ALERTS,
        &TOP_TRACES,
    ],
};
