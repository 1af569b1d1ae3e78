//! The keys of a `sql` destination: the database, the statements and their parameters.

mod param;
mod statement;

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::Secret;
use toml::Spanned;
use toml::de::DeValue;

pub use param::{Param, ParamType, Presence, Value, ValueFrom};
pub use statement::{Statement, StatementError};

use super::{KindName, KindSettings, URL};
use crate::nearest::suggestion;
use crate::outbox::OUTBOX_LEDGER_WINDOW;
use crate::report::Report;
use crate::section::Section;
use crate::setting::{Key, Table, article};
use crate::sql_url::{self, SqlUrl};
use crate::{Config, StoreUrl};
use hapax_api::duration::format_duration;

pub(super) static STATEMENTS: Key<Vec<String>> = Key::required(
    "statements",
    "What to run, in this order, in one transaction with a row of `hapax_inbox`. `:name` stands for a parameter.",
)
.only(&["sql"]);

pub(super) static PARAMS: Key<toml::Table> = Key::optional(
    "params",
    "For each name, where its value is: `order = \"body:/data/object/id\"`; see `[destinations.NAME.params.PARAM]`.",
)
.only(&["sql"]);

pub(super) static CONNECTIONS: Key<u32> = Key::with_default(
    "connections",
    "2",
    "Transactions at once, per replica (PostgreSQL; SQLite has one writer). Quick statements share transactions and gain nothing from more; slow ones do.",
)
.within("1", "64")
.only(&["sql"]);

pub(super) static INBOX_RETENTION: Key<Duration> = Key::with_default(
    "inbox_retention",
    "60d",
    "How long `hapax_inbox` remembers what was applied. At least a day longer than the `ledger_window` of every source that delivers here, and `31d` where there is an outbox.",
)
.within("1d", "3650d")
.only(&["sql"]);

static FROM: Key<String> = Key::required(
    "from",
    "`body:/json/pointer`, `header:NAME`, `body` (all of it), `event_id`, `event_type`, `source`, `id`, `received_at`, `idempotency_key` or `generation`.",
)
.named("place");

static TYPE: Key<ParamType> = Key::depends(
    "type",
    "the type in the event",
    "What the value must be; `bytes` is for `body` only. What does not fit makes the delivery dead.",
);

static OPTIONAL: Key<bool> = Key::with_default(
    "optional",
    "false",
    "Whether the value may be missing; then it is NULL.",
);

pub(crate) static PARAM: Table = Table {
    header: "[destinations.NAME.params.PARAM]",
    help: "A value for the statements of a `sql` destination. `PARAM = \"place\"` is short for `PARAM = { from = \"place\" }`. \
           Values are bound, never written into the SQL.",
    keys: &[&FROM, &TYPE, &OPTIONAL],
};

/// The most statements, and the most parameters.
const LIST_MAX: usize = 64;

/// How much longer than the ledger an inbox must remember, at least. A replay at the end of the window may wait this
/// long.
const LATE_REPLAY: Duration = Duration::from_secs(86_400);

/// SQL statements that are run in a transaction.
#[derive(Clone, Debug)]
pub struct Sql {
    pub url: SqlUrl,
    /// Run in this order, in one transaction; at least one.
    pub statements: Vec<Statement>,
    /// The parameters, by name; every one is used.
    pub params: BTreeMap<String, Param>,
    /// The most concurrent transactions in this process.
    pub connections: u32,
    /// How long the inbox remembers an applied event.
    pub inbox_retention: Duration,
}

/// The keys as written in the file. They are read for every kind of destination.
pub(super) struct Keys<'doc> {
    params: Option<&'doc Spanned<DeValue<'doc>>>,
    statements: Option<Vec<(String, String)>>,
    connections: u32,
    inbox_retention: Duration,
}

impl<'doc> Keys<'doc> {
    pub(super) fn read(section: &mut Section<'doc, '_, '_>) -> Self {
        Self {
            params: section.table(&PARAMS),
            statements: section.texts(&STATEMENTS),
            connections: section.get(&CONNECTIONS),
            inbox_retention: section.get(&INBOX_RETENTION),
        }
    }

    /// The destination that the keys describe.
    pub(super) fn mean(self, section: &mut Section<'_, '_, '_>, url: Option<Secret>) -> Option<Sql> {
        if !section.has(&URL) {
            section.missing(
                &URL,
                "a sql destination needs it, such as \"postgres://user@host/database\"",
            );
        }
        if !section.has(&STATEMENTS) {
            section.missing(
                &STATEMENTS,
                "a sql destination needs it, such as [\"insert into payments (id) values (:event)\"]",
            );
        }
        let params = read_params(section, self.params);
        let statements = read_statements(section, self.statements?)?;
        let params = params?;
        every_name_fits(section, &statements, &params)?;
        let url = sql_url::read(section, &URL, &url?)?;
        Some(Sql {
            url,
            statements,
            params,
            connections: self.connections,
            inbox_retention: self.inbox_retention,
        })
    }
}

impl KindSettings for Sql {
    fn name(&self) -> KindName {
        KindName::Sql
    }

    fn target(&self) -> String {
        self.url.to_string()
    }

    fn check(&self, name: &str, config: &Config, report: &mut Report<'_>) {
        if let (SqlUrl::Sqlite(target), StoreUrl::Sqlite(store)) = (&self.url, &config.store.url)
            && target == store
        {
            report.problem(
                &format!("destinations.{name}.url"),
                "this is the store's own file, which no other connection may write to; use a separate file for the \
                 application",
            );
        }
        self.check_inbox(name, config, report);
    }
}

impl Sql {
    /// An inbox that forgets an event before a late replay has run would let it take effect twice.
    fn check_inbox(&self, name: &str, config: &Config, report: &mut Report<'_>) {
        let sources = config.sources.values();
        let windows = sources
            .filter(|source| source.deliver_to.iter().any(|to| to == name))
            .map(|source| source.ledger_window)
            // An outbox row may name any destination.
            .chain(config.outboxes.values().map(|_| OUTBOX_LEDGER_WINDOW));
        let least = windows.max().map(|window| (window, window + LATE_REPLAY));
        if let Some((window, least)) = least.filter(|(_, least)| *least > self.inbox_retention) {
            report.problem(
                &format!("destinations.{name}.inbox_retention"),
                format_args!(
                    "the inbox would forget after {}, but an event may be replayed until the ledger forgets it, after \
                     {}, and then be queued for some time: it would take effect again; set it to at least {}",
                    format_duration(self.inbox_retention),
                    format_duration(window),
                    format_duration(least)
                ),
            );
        }
    }
}

fn read_statements(
    section: &mut Section<'_, '_, '_>,
    texts: Vec<(String, String)>,
) -> Option<Vec<Statement>> {
    if texts.is_empty() || texts.len() > LIST_MAX {
        section.problem(&STATEMENTS, format_args!("expected 1 to {LIST_MAX} statements"));
        return None;
    }
    let read = texts
        .into_iter()
        .map(|(path, text)| match text.parse::<Statement>() {
            Ok(statement) => Some(statement),
            Err(error) => {
                section.report.problem(&path, error);
                None
            }
        });
    // Every entry is read before the first invalid one ends it.
    let statements: Vec<Statement> = read.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?;
    let written = statements.iter().map(Statement::as_written);
    section.show(&STATEMENTS, written.collect::<Vec<_>>());
    Some(statements)
}

fn read_params(
    section: &mut Section<'_, '_, '_>,
    table: Option<&Spanned<DeValue<'_>>>,
) -> Option<BTreeMap<String, Param>> {
    let entries = table.and_then(|value| value.get_ref().as_table());
    let mut params = BTreeMap::new();
    let mut complete = true;
    for (key, value) in entries.into_iter().flatten() {
        let name: &str = key.get_ref();
        let path = format!("{}.{name}", section.path(&PARAMS));
        let place = section.report.place_of(&key.span());
        section.report.locate(&path, place);
        match read_param(section, &path, name, value) {
            Some(param) => drop(params.insert(name.to_owned(), param)),
            None => complete = false,
        }
    }
    if params.len() > LIST_MAX {
        section.problem(&PARAMS, format_args!("at most {LIST_MAX} of them"));
        return None;
    }
    let shown = params
        .iter()
        .map(|(name, param)| (name.clone(), param.as_written().into()));
    section.show(&PARAMS, shown.collect::<toml::Table>());
    complete.then_some(params)
}

fn read_param(
    section: &mut Section<'_, '_, '_>,
    path: &str,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Option<Param> {
    if !statement::is_name(name) {
        section.report.problem(
            path,
            "a name has letters, digits and `_`, and does not begin with a digit",
        );
        return None;
    }
    let (from, kind, presence) = match value.get_ref() {
        DeValue::String(text) => (text.to_string(), None, param::Presence::Required),
        DeValue::Table(table) => {
            let mut inner = Section::open(path, &PARAM, Some(table), BTreeMap::new(), section.report);
            let from = inner.find(&FROM);
            if from.is_none() {
                inner.missing(&FROM, "such as \"body:/data/object/id\"");
            }
            let kind = inner.find(&TYPE);
            let presence = if inner.get(&OPTIONAL) {
                param::Presence::Optional
            } else {
                param::Presence::Required
            };
            (from?, kind, presence)
        }
        other => {
            section.report.problem(
                path,
                format_args!(
                    "expected a location such as \"body:/data/object/id\", or {{ from = \"…\", type = \"…\" }}, found \
                     {}",
                    article(other)
                ),
            );
            return None;
        }
    };
    match Param::new(&from, kind, presence) {
        Ok(param) => Some(param),
        Err(error) => {
            section.report.problem(path, error);
            None
        }
    }
}

/// A parameter without a value, or one that no statement uses, is probably a typing error.
fn every_name_fits(
    section: &mut Section<'_, '_, '_>,
    statements: &[Statement],
    params: &BTreeMap<String, Param>,
) -> Option<()> {
    let mut fits = true;
    for (index, statement) in statements.iter().enumerate() {
        for name in statement
            .names()
            .iter()
            .filter(|name| !params.contains_key(*name))
        {
            let meant = suggestion(name, params.keys().map(String::as_str));
            let path = format!("{}.{index}", section.path(&STATEMENTS));
            section
                .report
                .problem(&path, format_args!("`:{name}` is not in `params`{meant}"));
            fits = false;
        }
    }
    let unused = |name: &&String| {
        !statements
            .iter()
            .any(|statement| statement.names().contains(name))
    };
    for name in params.keys().filter(unused) {
        let path = format!("{}.{name}", section.path(&PARAMS));
        section.report.problem(
            &path,
            format_args!("no statement uses `:{name}`; use it, or remove it"),
        );
        fits = false;
    }
    fits.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_remembers_as_long_as_that_of_the_library() {
        assert_eq!(INBOX_RETENTION.default_value(), hapax::tables::INBOX_RETENTION);
    }
}
