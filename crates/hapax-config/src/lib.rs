//! The configuration: `hapax.toml`, overridden by the environment and by flags, and checked completely before anything
//! starts.
//!
//! [`load`] reads the file, resolves every secret, compiles every verifier and runs every check. Its result is ready to
//! use. All problems in a file are reported at once, with line and column.
//!
//! Order of precedence: flags, then `HAPAX_SECTION__KEY` in the environment (for `[server]` and `[store]`), then the
//! same variables in `.env` next to the file, then the file, then defaults.

pub mod address;
mod alerts;
mod allowed_targets;
mod attempts;
mod check;
mod command_env;
pub mod destination;
mod dotenv;
mod encryption;
mod environment;
mod events;
pub mod http_url;
mod kept_secrets;
mod key_server;
pub mod keys;
pub mod limits;
mod loader;
mod name;
pub mod nearest;
mod network;
mod oidc;
mod origins;
mod outbox;
mod overlay;
mod problem;
pub mod process_group;
mod rate;
pub mod redact;
mod report;
mod secret;
mod secret_origin;
mod section;
mod server;
mod setting;
mod show;
mod source;
mod sql_url;
mod store_url;
mod tls;
mod tokens;
mod top;
mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use alerts::{Alerts, Receiver, ReceiverKind};
pub use allowed_targets::AllowedTargets;
pub use attempts::KeyForm;
pub use command_env::CommandEnv;
pub use destination::{Destination, Kind};
pub use encryption::Encryption;
pub use environment::Environment;
pub use events::{EventPattern, Events};
pub use http_url::{http_url, origin_of, shown_url};
pub use kept_secrets::{CommandError, ENVIRONMENT_OF_COMMANDS, KeptSecrets, SecretError, WordsError};
pub use key_server::{KeyServer, KeyServerError};
pub use limits::Limits;
pub use loader::Loader;
pub use name::is_valid_name;
pub use nearest::nearest;
pub use network::{Network, NetworkError};
pub use oidc::secure_url;
pub use oidc::{Claim, Oidc};
pub use origins::Origins;
pub use outbox::{OUTBOX_LEDGER_WINDOW, OUTBOX_PAYLOAD_RETENTION, Outbox};
pub use problem::{ConfigError, ConfigLocation, Problem};
pub use rate::{NotARate, Rate};
pub use secret::resolve_secret;
pub use secret_origin::SecretOrigin;
pub use server::{Server, Store};
pub use show::Shown;
pub use source::ledger_window_min;
pub use source::{Ack, AllowFrom, Source};
pub use sql_url::SqlUrl;
pub use store_url::{StoreUrl, StoreUrlError};
pub use tls::Tls;
pub use tokens::{ADMIN_TOKEN_BYTES_MIN, Role, Token};
pub use traces::Traces;

use alerts::ALERTS;
use destination::DESTINATION;
use outbox::OUTBOX;
use report::Report;
use section::{Section, join};
use server::{SERVER, STORE};
use setting::{Key, Table, article};
use source::SOURCE;
use top::{TOP, TOP_ALERTS, TOP_DESTINATIONS, TOP_OUTBOX, TOP_SERVER, TOP_SOURCES, TOP_STORE, TOP_TRACES};
use traces::TRACES;

/// The largest file, in bytes: enough for thousands of sources.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Everything that `serve` needs, resolved, with defaults filled in, and checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file that it was read from.
    pub path: PathBuf,
    pub server: Server,
    pub store: Store,
    /// By name.
    pub sources: BTreeMap<String, Source>,
    /// By name.
    pub destinations: BTreeMap<String, Destination>,
    /// By name.
    pub outboxes: BTreeMap<String, Outbox>,
    pub alerts: Alerts,
    /// Where spans are exported; `None` if they are not.
    pub traces: Option<Traces>,
    /// Settings that are allowed but should be reviewed.
    pub warnings: Vec<Problem>,
    /// The origin of each value.
    pub origins: Origins,
    /// Each value in effect.
    pub shown: Shown,
}

/// A key that is set by a flag.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The flag, such as `--listen`.
    pub flag: &'static str,
    /// The key's path, such as `server.listen`.
    pub path: &'static str,
    pub value: String,
}

/// Reads and checks the file at `path`.
pub fn load(path: &Path, environment: &Environment, flags: &[Flag]) -> Result<Config, ConfigError> {
    parse(&read_text(path)?, path, environment, flags)
}

fn read_text(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => ConfigError::Missing(path.to_owned()),
        _ => ConfigError::Unreadable {
            path: path.to_owned(),
            error,
        },
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Ok(text)
}

/// Checks `text` as if it were the file at `path`.
pub fn parse(
    text: &str,
    path: &Path,
    environment: &Environment,
    flags: &[Flag],
) -> Result<Config, ConfigError> {
    let mut report = Report::new(text, environment);
    let config = read(text, path, flags, &mut report);
    finish(config, path, report)
}

impl Config {
    /// The URL that the provider calls for a source; empty if it is not known.
    pub fn public_url_of(&self, source: &str) -> String {
        let own = self
            .sources
            .get(source)
            .and_then(|source| source.public_url.clone());
        let of_server = || Some(format!("{}/in/{source}", self.server.public_url.as_ref()?));
        own.or_else(of_server).unwrap_or_default()
    }

    /// One line for each warning: `hapax.toml:3:1: …`.
    pub fn warning_lines(&self) -> Vec<String> {
        self.warnings
            .iter()
            .map(|warning| problem::line(&self.path, warning))
            .collect()
    }
}

fn finish(config: Option<Config>, path: &Path, mut report: Report<'_>) -> Result<Config, ConfigError> {
    report.problems.sort();
    report.problems.dedup();
    report.warnings.sort();
    match config {
        Some(config) if report.problems.is_empty() => Ok(Config {
            warnings: report.warnings,
            origins: report.origins,
            shown: Shown::new(report.shown),
            ..config
        }),
        _ => Err(ConfigError::Invalid {
            path: path.to_owned(),
            problems: report.problems,
        }),
    }
}

fn read(text: &str, path: &Path, flags: &[Flag], report: &mut Report<'_>) -> Option<Config> {
    if text.len() as u64 > FILE_BYTES_MAX {
        report.problem_at(
            ConfigLocation::Nowhere,
            format!("the file is larger than {FILE_BYTES_MAX} bytes"),
        );
        return None;
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    // The parser's own rendering quotes the line, which may contain a secret, so only its message is used.
    for error in &errors {
        let place = error
            .span()
            .map_or(ConfigLocation::Nowhere, |span| report.place_of(&span));
        report.problem_at(place, format!("not TOML: {}", error.message()));
    }
    if !errors.is_empty() {
        return None;
    }

    overlay::refuse_strangers(report);
    let top = &mut Section::open("", &TOP, Some(document.get_ref()), BTreeMap::new(), report);
    let server = read_table(top, &TOP_SERVER, &SERVER, flags, server::read_server);
    let store = read_table(top, &TOP_STORE, &STORE, flags, server::read_store);
    let alerts = read_table(top, &TOP_ALERTS, &ALERTS, flags, alerts::read);
    let traces = read_table(top, &TOP_TRACES, &TRACES, flags, traces::read);
    let destinations = read_named(top, &TOP_DESTINATIONS, &DESTINATION, destination::read);
    let sources = read_named(top, &TOP_SOURCES, &SOURCE, |name, section| {
        source::read(name, &server, section)
    });
    let outboxes = read_named(top, &TOP_OUTBOX, &OUTBOX, outbox::read);

    let declared: BTreeSet<String> = destinations.keys().cloned().collect();
    let config = Config {
        path: path.to_owned(),
        server,
        store,
        sources: usable(sources),
        destinations: usable(destinations),
        outboxes: usable(outboxes),
        alerts,
        traces,
        warnings: Vec::new(),
        origins: Origins::default(),
        shown: Shown::default(),
    };
    let declared = declared.iter().map(String::as_str).collect();
    check::check(&config, &declared, top.report);
    Some(config)
}

fn read_table<T>(
    top: &mut Section<'_, '_, '_>,
    key: &'static Key<toml::Table>,
    known: &'static Table,
    flags: &[Flag],
    read: impl FnOnce(&mut Section<'_, '_, '_>) -> T,
) -> T {
    let table = top.table(key).and_then(as_table);
    let overrides = overlay::of_section(key.name(), flags, top.report);
    let mut section = Section::open(key.name(), known, table, overrides, top.report);
    let value = read(&mut section);
    section.close();
    value
}

/// The tables under a key, by name. One with a problem may be `None`.
fn read_named<T>(
    top: &mut Section<'_, '_, '_>,
    key: &'static Key<toml::Table>,
    known: &'static Table,
    read: impl Fn(&str, &mut Section<'_, '_, '_>) -> Option<T>,
) -> BTreeMap<String, Option<T>> {
    let tables = top.table(key).and_then(as_table);
    let mut values = BTreeMap::new();
    for (name, table) in named_tables(key.name(), tables, top.report) {
        let path = join(key.name(), name);
        let mut section = Section::open(path, known, Some(table), BTreeMap::new(), top.report);
        values.insert(name.to_owned(), read(name, &mut section));
        section.close();
    }
    values
}

fn usable<T>(values: BTreeMap<String, Option<T>>) -> BTreeMap<String, T> {
    let values = values.into_iter();
    values.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The tables under `sources` or `destinations`. Reports each entry that is not a table or has an invalid name.
fn named_tables<'doc>(
    path: &str,
    tables: Option<&'doc DeTable<'doc>>,
    report: &mut Report<'_>,
) -> Vec<(&'doc str, &'doc DeTable<'doc>)> {
    let mut found = Vec::new();
    for (key, value) in tables.into_iter().flatten() {
        let name: &str = key.get_ref();
        let full = join(path, name);
        let place = report.place_of(&key.span());
        report.locate(&full, place.clone());
        if !is_valid_name(name) {
            report.problem_at(
                place,
                format!("[{path}] cannot have {name:?} as a name: {}", name::RULE),
            );
            continue;
        }
        match value.get_ref() {
            DeValue::Table(table) => found.push((name, table)),
            other => report.problem(&full, format_args!("expected a table, found {}", article(other))),
        }
    }
    found
}

fn as_table<'doc>(value: &'doc Spanned<DeValue<'doc>>) -> Option<&'doc DeTable<'doc>> {
    value.get_ref().as_table()
}

#[cfg(test)]
mod tests;
