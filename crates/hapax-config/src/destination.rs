//! `[destinations.NAME]`: the keys that every kind has, and the register of kinds. Each kind has its own file.

pub mod command;
pub mod http;
pub mod sql;

use std::time::Duration;

use hapax_core::{Backoff, DestinationId, OnDead, Secret};
use hapax_verify::Field;
use hapax_verify::identity::ValuePath;

use super::Config;
use super::attempts::{self, ATTEMPT_BACKOFF, MAX_ATTEMPTS, ON_DEAD, TIMEOUT, read_backoff};
use super::events::{EventPattern, Events};
use super::name::parse_name;
use super::rate::Rate;
use super::report::Report;
use super::section::Section;
use super::setting::{Key, Table, words};
use command::Command;
use hapax_api::duration::format_duration;
use http::Http;
pub(super) use sql::PARAM;
use sql::Sql;

static KIND: Key<KindName> = Key::required("kind", "What it is: a URL, a program or a database.");

static URL: Key<Secret> = Key::required(
    "url",
    "Where to send (link-local and metadata addresses are refused), or the database, `postgres://…` or `sqlite:app.db`. `env:NAME`, `file:PATH` and `exec:COMMAND` keep tokens and passwords out of the file; it is shown without user name, password and query.",
)
.named("URL")
.only(&["http", "sql"])
.local();

/// Events of a `sql` destination share transactions: the more are in progress, the fewer commits are needed.
static CONCURRENCY: Key<u32> = attempts::CONCURRENCY.but_in("sql", "128");

static EVENTS: Key<Vec<String>> = Key::depends(
    "events",
    "all",
    "The event types to deliver; `*` matches any text.",
)
.named("list of patterns");

static RATE_LIMIT: Key<Rate> = Key::optional("rate_limit", "The most attempts, per replica.");

static ORDER_BY: Key<String> = Key::optional(
    "order_by",
    "`body:/json/pointer` or `header:NAME`: events with the same value there run one at a time, in order of acceptance.",
)
.named("place");

static LEASE: Key<Duration> = Key::with_default(
    "lease",
    "60s",
    "How long a worker holds a delivery, unless it renews the lease. The death of a whole replica is noticed sooner, within 15 s.",
)
.within("100ms", "2h");

static ID: Key<String> = Key::depends(
    "id",
    "the destination's name",
    "Its stable identity: keep it when the name changes, or idempotency keys change.",
);

pub static DESTINATION: Table = Table {
    header: "[destinations.NAME]",
    help: "One receiver.",
    keys: &[
        &KIND,
        &URL,
        &http::SIGNING_SECRET,
        &http::IDEMPOTENCY_KEY,
        &command::COMMAND,
        &command::ENV,
        &sql::STATEMENTS,
        &sql::PARAMS,
        &sql::CONNECTIONS,
        &sql::INBOX_RETENTION,
        &EVENTS,
        &TIMEOUT,
        &CONCURRENCY,
        &RATE_LIMIT,
        &MAX_ATTEMPTS,
        &ATTEMPT_BACKOFF,
        &ORDER_BY,
        &ON_DEAD,
        &LEASE,
        &ID,
    ],
};

/// The most patterns in `events`.
const LIST_MAX: usize = 256;

#[derive(Clone, Debug)]
pub struct Destination {
    pub name: String,
    /// Its stable identity.
    pub id: DestinationId,
    pub kind: Kind,
    /// The events to deliver to it.
    pub events: Events,
    /// How long one attempt may take; shorter than the lease.
    pub timeout: Duration,
    /// The most attempts in progress at once.
    pub concurrency: u32,
    /// The highest rate of attempts.
    pub rate_limit: Option<Rate>,
    /// After this many failed attempts a delivery is dead.
    pub max_attempts: u32,
    /// The wait between attempts.
    pub backoff: Backoff,
    /// The field that defines lanes. Events with the same value are delivered one at a time.
    pub order_by: Option<Field>,
    /// How a dead delivery affects its lane.
    pub on_dead: OnDead,
    /// How long a worker may hold a delivery.
    pub lease: Duration,
}

/// The kind of a destination, with its settings.
#[derive(Clone, Debug)]
pub enum Kind {
    Http(Http),
    Command(Command),
    Sql(Box<Sql>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KindName {
    Http,
    Command,
    Sql,
}

words!(KindName { Http, Command, Sql });

impl KindName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Command => "command",
            Self::Sql => "sql",
        }
    }
}

/// What every kind says about its settings.
trait KindSettings {
    fn name(&self) -> KindName;

    /// Where it delivers to, for people; without credentials.
    fn target(&self) -> String;

    /// Reports what contradicts other tables. `name` is the destination's.
    fn check(&self, _name: &str, _config: &Config, _report: &mut Report<'_>) {}
}

impl Kind {
    fn settings(&self) -> &dyn KindSettings {
        match self {
            Self::Http(http) => http,
            Self::Command(command) => command,
            Self::Sql(sql) => &**sql,
        }
    }

    /// The kind as written in the file.
    pub fn as_str(&self) -> &'static str {
        self.settings().name().as_str()
    }

    /// Where it delivers to, for people; without credentials.
    pub fn target(&self) -> String {
        self.settings().target()
    }

    pub(super) fn check(&self, name: &str, config: &Config, report: &mut Report<'_>) {
        self.settings().check(name, config, report);
    }
}

pub(super) fn read(name: &str, section: &mut Section<'_, '_, '_>) -> Option<Destination> {
    let kind_name = section.required_word(&KIND);
    let kind = read_kind(section, kind_name);
    let events = read_events(section);
    let timeout = section.get(&TIMEOUT);
    let lease = section.get(&LEASE);
    if timeout >= lease {
        let at = if section.has(&TIMEOUT) { &TIMEOUT } else { &LEASE };
        section.problem(
            at,
            format_args!(
                "an attempt may take {}, but its lease lasts only {}: another worker would take over the delivery \
                 during the attempt; set `timeout` to less than `lease`",
                format_duration(timeout),
                format_duration(lease)
            ),
        );
    }
    let id = section.parsed(&ID, parse_name).unwrap_or_else(|| name.to_owned());
    section.show(&ID, id.as_str());
    let concurrency = section.get_or(&CONCURRENCY, || {
        CONCURRENCY.default_in(kind_name.map_or("", KindName::as_str))
    });
    let max_attempts = section.get(&MAX_ATTEMPTS);
    let rate_limit = section.find(&RATE_LIMIT);
    let order_by = section.parsed(&ORDER_BY, order_by);
    let on_dead = read_on_dead(section);
    let backoff = read_backoff(section);
    Some(Destination {
        name: name.to_owned(),
        id: DestinationId::from(id),
        kind: kind?,
        events,
        timeout,
        concurrency,
        rate_limit,
        max_attempts,
        backoff,
        order_by,
        on_dead,
        lease,
    })
}

fn read_kind(section: &mut Section<'_, '_, '_>, kind: Option<KindName>) -> Option<Kind> {
    // All keys are read for every kind, so that a mistake in any of them is reported now.
    let url = section.reference(&URL);
    let http = http::Keys::read(section);
    let command = command::Keys::read(section);
    let sql = sql::Keys::read(section);
    let kind = kind?;
    section.refuse_others("a destination", kind.as_str());
    match kind {
        KindName::Http => http.mean(section, url).map(Kind::Http),
        KindName::Command => command.mean(section).map(Kind::Command),
        KindName::Sql => sql.mean(section, url).map(Box::new).map(Kind::Sql),
    }
}

fn read_events(section: &mut Section<'_, '_, '_>) -> Events {
    let Some(texts) = section.texts(&EVENTS) else {
        return Events::All;
    };
    if texts.len() > LIST_MAX {
        section.problem(&EVENTS, format_args!("at most {LIST_MAX} patterns"));
    }
    if texts.is_empty() {
        section.problem(
            &EVENTS,
            "an empty list matches no event; remove it to deliver all events",
        );
    }
    let mut patterns = Vec::new();
    for (path, text) in texts {
        match EventPattern::new(&text) {
            Some(pattern) => patterns.push(pattern),
            None => section.report.problem(
                &path,
                format_args!(
                    "a pattern must have 1 to {} bytes, such as \"invoice.*\"",
                    EventPattern::BYTES_MAX
                ),
            ),
        }
    }
    Events::Matching(patterns)
}

fn order_by(text: &str) -> Result<Field, String> {
    let field: Field = text
        .parse()
        .map_err(|error: hapax_verify::SetupError| error.to_string())?;
    // A hash of the body differs for every event, so every lane would hold just one.
    let orders = |place: &ValuePath| {
        matches!(
            place,
            ValuePath::Header(_) | ValuePath::Body(_) | ValuePath::Form(_)
        )
    };
    if !field.paths().iter().all(orders) {
        return Err("it cannot order events; write \"body:/json/pointer\" or \"header:NAME\"".to_owned());
    }
    Ok(field)
}

fn read_on_dead(section: &mut Section<'_, '_, '_>) -> OnDead {
    let on_dead = section.get(&ON_DEAD);
    if section.has(&ORDER_BY) {
        return on_dead;
    }
    section.hide(&ON_DEAD);
    if section.has(&ON_DEAD) {
        section.problem(
            &ON_DEAD,
            "has no effect without `order_by`; remove it, or set `order_by`",
        );
    }
    on_dead
}

#[cfg(test)]
mod tests {
    use crate::tests::problems;

    #[test]
    fn a_missing_or_unknown_kind_is_answered_with_every_kind() {
        assert_eq!(
            problems("[destinations.app]\nurl = \"http://127.0.0.1/\"\n"),
            [
                "hapax.toml:1:15: destinations.app: `kind` is missing; write kind = \"http\", \"command\" or \"sql\""
            ]
        );
        assert_eq!(
            problems("[destinations.app]\nkind = \"htpp\"\n"),
            [
                "hapax.toml:2:1: destinations.app.kind: \"htpp\" is not one of \"http\", \"command\", \"sql\"; did you mean `http`?"
            ]
        );
    }
}
