//! `[destinations.NAME]`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use hapax_core::{Backoff, DestinationId, OnDead, Secret};
use hapax_verify::identity::ValuePath;
use hapax_verify::sign::Signer;
use hapax_verify::{Field, catalogue};

use super::command_env::{self, CommandEnv};
use super::events::{EventPattern, Events};
use super::http_url::http_url;
use super::keys::{BACKOFF, DESTINATION};
use super::name::parse_name;
use super::rate::Rate;
use super::section::Section;
use super::sql::{self, Sql};
use hapax_api::duration::format_duration;

pub(super) const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(3600);
const LEASE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(2 * 3600);
const BACKOFF_FIRST: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(86_400);
const BACKOFF_CAP: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(7 * 86_400);
pub(super) const CONCURRENCY: RangeInclusive<u32> = 1..=1024;
pub(super) const MAX_ATTEMPTS: RangeInclusive<u32> = 1..=100;
/// The most patterns in `events`, and the most arguments in `command`.
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

/// The kind of a destination.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A URL that receives a request.
    Http {
        url: http::Uri,
        /// Signs the request as in Standard Webhooks.
        secret: Option<Secret>,
        key_form: KeyForm,
    },
    /// A program that is run.
    Command {
        /// The program and its arguments; at least one element.
        argv: Vec<String>,
        /// The environment variables passed to it.
        env: CommandEnv,
    },
    /// SQL statements that are run in a transaction.
    Sql(Box<Sql>),
}

/// The format of `Idempotency-Key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyForm {
    /// The key alone, which is what receivers compare today.
    #[default]
    Plain,
    /// In quotes: a structured-field string, as the IETF draft requires.
    Quoted,
}

impl KeyForm {
    /// The format as written in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Quoted => "quoted",
        }
    }
}

pub(super) fn read(name: &str, mut section: Section<'_, '_, '_>) -> Option<Destination> {
    let kind = read_kind(&mut section);
    let events = read_events(&mut section);
    let timeout = section.duration("timeout", Duration::from_secs(10), &TIMEOUT);
    let lease = section.duration("lease", Duration::from_secs(60), &LEASE);
    if timeout >= lease {
        let at = if section.has("timeout") {
            "timeout"
        } else {
            "lease"
        };
        section.problem(
            at,
            format_args!(
                "an attempt may take {}, but its lease lasts only {}: another worker would take the delivery over in the \
                 middle; make `timeout` less than `lease`",
                format_duration(timeout),
                format_duration(lease)
            ),
        );
    }
    let id = section
        .parsed("id", parse_name)
        .unwrap_or_else(|| name.to_owned());
    let concurrency = section.integer("concurrency", concurrency_of(kind.as_ref()), &CONCURRENCY);
    let max_attempts = section.integer("max_attempts", 12, &MAX_ATTEMPTS);
    let rate_limit = section.parsed("rate_limit", str::parse::<Rate>);
    let order_by = section.parsed("order_by", order_by);
    let on_dead = read_on_dead(&mut section);
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

/// Events of a `sql` destination share transactions: the more are in progress, the fewer commits are needed.
const fn concurrency_of(kind: Option<&Kind>) -> u32 {
    match kind {
        Some(Kind::Sql(_)) => 128,
        Some(Kind::Http { .. } | Kind::Command { .. }) | None => 32,
    }
}

fn read_kind(section: &mut Section<'_, '_, '_>) -> Option<Kind> {
    // All keys are read for every kind, so that a mistake in any of them is reported now.
    let url = section.reference("url");
    let secret = section.secret("secret");
    let key_form = read_key_form(section);
    let command = section.texts("command");
    let env = command_env::read(section);
    let sql = sql::Keys::read(section);
    if !section.has("kind") {
        section.missing("kind", "write kind = \"http\", \"command\" or \"sql\"");
        return None;
    }
    match section.choice("kind", &["http", "command", "sql"])? {
        "http" => read_http(section, url, secret, key_form),
        "command" => read_command(section, command, env),
        _ => {
            refuse_others(section, "sql", &["command", "env", "secret", "idempotency_key"]);
            sql.mean(section, url).map(|sql| Kind::Sql(Box::new(sql)))
        }
    }
}

/// Keys that only `sql` destinations have.
const SQL_KEYS: [&str; 4] = ["params", "statements", "connections", "inbox_retention"];

pub(super) fn read_key_form(section: &mut Section<'_, '_, '_>) -> KeyForm {
    match section.choice("idempotency_key", &["plain", "quoted"]) {
        Some("quoted") => KeyForm::Quoted,
        Some(_) | None => KeyForm::Plain,
    }
}

fn read_http(
    section: &mut Section<'_, '_, '_>,
    url: Option<Secret>,
    secret: Option<Secret>,
    key_form: KeyForm,
) -> Option<Kind> {
    refuse_others(section, "http", &["command", "env"]);
    refuse_others(section, "http", &SQL_KEYS);
    if !section.has("url") {
        section.missing(
            "url",
            "an http destination needs it, such as \"http://127.0.0.1:3000/webhooks\"",
        );
    }
    check_signing_secret(section, secret.as_ref());
    let url = http_url(url?.expose())
        .map_err(|error| section.problem("url", error))
        .ok()?;
    Some(Kind::Http {
        url,
        secret,
        key_form,
    })
}

fn read_command(
    section: &mut Section<'_, '_, '_>,
    command: Option<Vec<(String, String)>>,
    env: CommandEnv,
) -> Option<Kind> {
    refuse_others(section, "command", &["url", "secret", "idempotency_key"]);
    refuse_others(section, "command", &SQL_KEYS);
    if !section.has("command") {
        section.missing(
            "command",
            "a command destination needs it, such as [\"./on-event.sh\"]",
        );
    }
    let argv = argv(section, command)?;
    Some(Kind::Command { argv, env })
}

/// A program and its arguments.
pub(super) fn argv(
    section: &mut Section<'_, '_, '_>,
    command: Option<Vec<(String, String)>>,
) -> Option<Vec<String>> {
    let argv: Vec<String> = command?.into_iter().map(|(_, argument)| argument).collect();
    let usable = argv.first().is_some_and(|program| !program.is_empty())
        && argv.len() <= LIST_MAX
        && !argv.iter().any(|argument| argument.contains('\0'));
    if !usable {
        section.problem(
            "command",
            format_args!(
                "expected a program and at most {} arguments, such as [\"./on-event.sh\"]",
                LIST_MAX - 1
            ),
        );
        return None;
    }
    Some(argv)
}

fn refuse_others(section: &mut Section<'_, '_, '_>, kind: &str, others: &[&str]) {
    debug_assert!(others.iter().all(|name| DESTINATION.has(name)));
    for name in others {
        if section.has(name) {
            section.problem(
                name,
                format_args!("does not apply to a destination of kind \"{kind}\"; remove it"),
            );
        }
    }
}

/// Outgoing requests are signed as in Standard Webhooks. A secret that cannot sign is reported now.
pub(super) fn check_signing_secret(section: &mut Section<'_, '_, '_>, secret: Option<&Secret>) {
    let standard = catalogue::get("standard-webhooks").and_then(|standard| standard.proof.scheme());
    let (Some(secret), Some(scheme)) = (secret, standard) else {
        return;
    };
    if let Err(error) = Signer::new(scheme, secret.expose()) {
        section.problem(
            "secret",
            format_args!("{error} (Standard Webhooks: \"whsec_\" and base64)"),
        );
    }
}

fn read_events(section: &mut Section<'_, '_, '_>) -> Events {
    let Some(texts) = section.texts("events") else {
        return Events::All;
    };
    if texts.len() > LIST_MAX {
        section.problem("events", format_args!("at most {LIST_MAX} patterns"));
    }
    if texts.is_empty() {
        section.problem(
            "events",
            "an empty list wants nothing; remove it to want all events",
        );
    }
    let mut patterns = Vec::new();
    for (path, text) in texts {
        match EventPattern::new(&text) {
            Some(pattern) => patterns.push(pattern),
            None => section.report.problem(
                &path,
                format_args!(
                    "a pattern has 1 to {} bytes, such as \"invoice.*\"",
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
        return Err("it orders nothing; write \"body:/json/pointer\" or \"header:NAME\"".to_owned());
    }
    Ok(field)
}

fn read_on_dead(section: &mut Section<'_, '_, '_>) -> OnDead {
    let choice = section.choice("on_dead", &["hold", "skip"]);
    if choice.is_some() && !section.has("order_by") {
        section.problem(
            "on_dead",
            "has no meaning without `order_by`; remove it, or set `order_by`",
        );
    }
    if choice == Some("skip") {
        OnDead::Skip
    } else {
        OnDead::Hold
    }
}

pub(super) fn read_backoff(mut section: Section<'_, '_, '_>) -> Backoff {
    let path = section.path("backoff");
    let table = section
        .table("backoff")
        .and_then(|value| value.get_ref().as_table());
    let defaults = Backoff::default();
    let mut section = Section::open(path, &BACKOFF, table, BTreeMap::new(), section.report);
    let first = section.duration("first", defaults.first, &BACKOFF_FIRST);
    let cap = section.duration("cap", defaults.cap.max(first), &BACKOFF_CAP);
    if first > cap {
        section.problem(
            "first",
            format_args!("is longer than `cap`, which is {}", format_duration(cap)),
        );
    }
    Backoff { first, cap }
}
