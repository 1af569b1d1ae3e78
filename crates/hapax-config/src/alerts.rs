//! `[alerts]` and `[alerts.receivers.NAME]`.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::Secret;
use toml::Value;
use toml::de::DeValue;

use super::attempts::{self, check_signing_secret};
use super::command_env::{self, CommandEnv, ENV};
use super::destination::command::argv;
use super::http_url::http_url;
use super::section::{Section, join};
use super::setting::{Facts, FromToml, Key, Setting, Share, Table, words};
use super::{as_table, named_tables};
use hapax_api::alert::Rule;

/// Bounds of the rules: a number of occurrences, and a duration.
const COUNT: (&str, &str) = ("0", "1000000000");
const LONG: (&str, &str) = ("1ms", "30d");

static DEDUPE_RATE: Key<Limit<Share>> = Key::with_default(
    "dedupe_rate",
    "0.5",
    "Of a source: the 95th percentile of the duplicate rates of the sixty 10-second slots in ten minutes; only if at least 20 events arrived.",
);

static HANDLER_P95: Key<Limit<Duration>> = Key::with_default(
    "handler_p95",
    "5s",
    "Of a destination: the 95th percentile of attempt durations over ten minutes.",
)
.within(LONG.0, LONG.1);

static OLDEST_PENDING: Key<Limit<Duration>> = Key::with_default(
    "oldest_pending",
    "10m",
    "Of a destination: how long its oldest unfinished delivery has waited, including paused and held ones.",
)
.within(LONG.0, LONG.1);

static DEAD_LETTERS: Key<Limit<u32>> = Key::with_default(
    "dead_letters",
    "0",
    "Of a destination: the number of dead letters.",
)
.within(COUNT.0, COUNT.1);

static BREAKER_OPEN: Key<Limit<Duration>> = Key::with_default(
    "breaker_open",
    "1m",
    "Of a destination: how long its breaker has been open.",
)
.within(LONG.0, LONG.1);

static CONFLICTS: Key<Limit<u32>> = Key::with_default(
    "conflicts",
    "0",
    "Of a source: conflicts in ten minutes, which are bodies that differ from the first one with the same id.",
)
.within(COUNT.0, COUNT.1);

static SIGNATURE_FAILURES: Key<Limit<u32>> = Key::with_default(
    "signature_failures",
    "10",
    "Of a source: requests in ten minutes that were answered 401.",
)
.within(COUNT.0, COUNT.1);

static DUPLICATE_GAP: Key<Limit<Share>> = Key::with_default(
    "duplicate_gap",
    "0.8",
    "Of a source: the longest delay of a duplicate after its event in the last day, as a share of `ledger_window`.",
);

static STORE_WRITE_P95: Key<Limit<Duration>> = Key::with_default(
    "store_write_p95",
    "1s",
    "The 95th percentile of the durations of durable writes over ten minutes.",
)
.within(LONG.0, LONG.1);

static OUTBOX_DOWN: Key<Limit<Duration>> = Key::with_default(
    "outbox_down",
    "1m",
    "Of an outbox: how long its table has been unusable.",
)
.within(LONG.0, LONG.1);

static OUTBOX_REFUSED: Key<Limit<u32>> = Key::with_default(
    "outbox_refused",
    "0",
    "Of an outbox: the number of refused rows that wait for an operator.",
)
.within(COUNT.0, COUNT.1);

static OUTBOX_WAITING: Key<Limit<Duration>> = Key::with_default(
    "outbox_waiting",
    "10m",
    "Of an outbox: how long the oldest row that is not relayed has waited.",
)
.within(LONG.0, LONG.1);

static RESOLVE_AFTER: Key<Duration> = Key::with_default(
    "resolve_after",
    "1m",
    "How long the condition must be false on every replica before the alert resolves.",
)
.within("1s", "1d");

static RECEIVERS: Key<toml::Table> = Key::optional(
    "receivers",
    "Where alerts are sent, one table for each receiver, up to 16.",
)
.named("tables");

pub static ALERTS: Table = Table {
    header: "[alerts]",
    help: "Alert rules. Each fires above its limit; `false` disables it. All rules are active without this table; firing alerts are then shown by `hapax alerts`, the dashboard, the log and the metrics.",
    keys: &[
        &DEDUPE_RATE,
        &HANDLER_P95,
        &OLDEST_PENDING,
        &DEAD_LETTERS,
        &BREAKER_OPEN,
        &CONFLICTS,
        &SIGNATURE_FAILURES,
        &DUPLICATE_GAP,
        &STORE_WRITE_P95,
        &OUTBOX_DOWN,
        &OUTBOX_REFUSED,
        &OUTBOX_WAITING,
        &RESOLVE_AFTER,
        &RECEIVERS,
    ],
};

static KIND: Key<ReceiverName> = Key::required(
    "kind",
    "`slack`: a request in the shape that Slack takes; `webhook`: a request by Standard Webhooks; `command`: a program, with the same JSON on its stdin and `HAPAX_ALERT_*` in its environment.",
);

static URL: Key<Secret> = Key::required(
    "url",
    "The URL that messages are sent to. It is a secret: anyone who knows it can post there. The same addresses are refused as for destinations.",
)
.only(&["slack", "webhook"])
.local();

static SIGNING_SECRET: Key<Secret> = attempts::SIGNING_SECRET.only(&["webhook"]);

static COMMAND: Key<Vec<String>> = Key::required(
    "command",
    "The program and its arguments, without a shell in between. Exit code 0 means told.",
)
.only(&["command"])
.local();

static TIMEOUT: Key<Duration> =
    Key::with_default("timeout", "10s", "How long sending one message may take.").within("10ms", "1m");

pub(super) static RECEIVER: Table = Table {
    header: "[alerts.receivers.NAME]",
    help: "A receiver of messages when an alert fires and when it resolves. `hapax alerts test NAME` sends a test message.",
    keys: &[&KIND, &URL, &SIGNING_SECRET, &COMMAND, &ENV, &TIMEOUT],
};

/// Every receiver is sent every message.
const RECEIVERS_MAX: usize = 16;

/// Alert rules and receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Alerts {
    /// The limit above which each rule fires, in the rule's unit. A rule that is missing is switched off.
    pub limits: BTreeMap<Rule, f64>,
    /// An alert is resolved when its rule has not been found true for this long.
    pub resolve_after: Duration,
    pub receivers: BTreeMap<String, Receiver>,
}

/// An alert receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    pub kind: ReceiverKind,
    /// How long sending one message may take.
    pub timeout: Duration,
}

/// How a receiver is notified. A URL is a secret: anyone who knows it can write to the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverKind {
    /// A request in Slack's format.
    Slack { url: Secret },
    /// A request that follows Standard Webhooks.
    Webhook {
        url: Secret,
        /// Signs the request.
        secret: Option<Secret>,
    },
    /// A program that is run.
    Command {
        /// The program and its arguments; at least one element.
        argv: Vec<String>,
        /// The environment variables passed to it.
        env: CommandEnv,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiverName {
    Slack,
    Webhook,
    Command,
}

words!(ReceiverName {
    Slack,
    Webhook,
    Command,
});

impl ReceiverName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Webhook => "webhook",
            Self::Command => "command",
        }
    }
}

/// The limit of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit<T> {
    /// The rule is switched off.
    Off,
    Above(T),
}

impl<T: Setting> Setting for Limit<T> {
    const TYPE: &'static str = T::TYPE;

    fn from_text(text: &str, key: &Facts) -> Result<Self, String> {
        T::from_text(text, key).map(Self::Above)
    }

    fn to_toml(&self) -> Value {
        match self {
            Self::Off => false.into(),
            Self::Above(value) => value.to_toml(),
        }
    }

    fn kind(key: &Facts) -> String {
        format!("{}, or `false`", T::kind(key))
    }
}

impl<T: FromToml> FromToml for Limit<T> {
    fn from_toml(value: &DeValue<'_>, key: &Facts) -> Result<Self, String> {
        match value {
            DeValue::Boolean(false) => Ok(Self::Off),
            other => T::from_toml(other, key).map(Self::Above),
        }
    }
}

impl<T> Limit<T> {
    /// The limit in the rule's unit; `None` if the rule is switched off.
    fn figure(self, figure: impl FnOnce(T) -> f64) -> Option<f64> {
        match self {
            Self::Off => None,
            Self::Above(value) => Some(figure(value)),
        }
    }
}

pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Alerts {
    let limits = Rule::ALL
        .into_iter()
        .filter_map(|rule| Some((rule, limit(section, rule)?)))
        .collect();
    let resolve_after = section.get(&RESOLVE_AFTER);
    let tables = section.table(&RECEIVERS).and_then(as_table);
    let path = section.path(&RECEIVERS);
    let tables = named_tables(&path, tables, section.report);
    if tables.len() > RECEIVERS_MAX {
        let message = format!(
            "there are {} receivers; at most {RECEIVERS_MAX} are allowed",
            tables.len()
        );
        section.problem(&RECEIVERS, message);
    }
    let mut receivers = BTreeMap::new();
    for (name, table) in tables {
        let path = join(&path, name);
        let mut section = Section::open(path, &RECEIVER, Some(table), BTreeMap::new(), section.report);
        receivers.extend(read_receiver(&mut section).map(|receiver| (name.to_owned(), receiver)));
        section.close();
    }
    Alerts {
        limits,
        resolve_after,
        receivers,
    }
}

/// The limit in the rule's unit; `None` if the rule is switched off.
fn limit(section: &mut Section<'_, '_, '_>, rule: Rule) -> Option<f64> {
    match rule {
        Rule::DedupeRate => section.get(&DEDUPE_RATE).figure(|share| share.0),
        Rule::HandlerP95 => section.get(&HANDLER_P95).figure(|limit| limit.as_secs_f64()),
        Rule::OldestPending => section.get(&OLDEST_PENDING).figure(|limit| limit.as_secs_f64()),
        Rule::DeadLetters => section.get(&DEAD_LETTERS).figure(f64::from),
        Rule::BreakerOpen => section.get(&BREAKER_OPEN).figure(|limit| limit.as_secs_f64()),
        Rule::Conflicts => section.get(&CONFLICTS).figure(f64::from),
        Rule::SignatureFailures => section.get(&SIGNATURE_FAILURES).figure(f64::from),
        Rule::DuplicateGap => section.get(&DUPLICATE_GAP).figure(|share| share.0),
        Rule::StoreWriteP95 => section.get(&STORE_WRITE_P95).figure(|limit| limit.as_secs_f64()),
        Rule::OutboxDown => section.get(&OUTBOX_DOWN).figure(|limit| limit.as_secs_f64()),
        Rule::OutboxRefused => section.get(&OUTBOX_REFUSED).figure(f64::from),
        Rule::OutboxWaiting => section.get(&OUTBOX_WAITING).figure(|limit| limit.as_secs_f64()),
    }
}

fn read_receiver(section: &mut Section<'_, '_, '_>) -> Option<Receiver> {
    // All keys are read for every kind, so that a mistake in any of them is reported now.
    let url = section.secret(&URL);
    let secret = section.secret(&SIGNING_SECRET);
    let command = section.texts(&COMMAND);
    let env = command_env::read(section);
    let timeout = section.get(&TIMEOUT);
    let kind = section.required_word(&KIND)?;
    section.refuse_others("a receiver", kind.as_str());
    let kind = match kind {
        ReceiverName::Slack => ReceiverKind::Slack {
            url: read_url(section, url)?,
        },
        ReceiverName::Webhook => {
            check_signing_secret(section, secret.as_ref());
            let url = read_url(section, url)?;
            ReceiverKind::Webhook { url, secret }
        }
        ReceiverName::Command => {
            if !section.has(&COMMAND) {
                section.missing(&COMMAND, "write it like [\"./on-alert.sh\"]");
            }
            let argv = argv(section, &COMMAND, command)?;
            ReceiverKind::Command { argv, env }
        }
    };
    Some(Receiver { kind, timeout })
}

fn read_url(section: &mut Section<'_, '_, '_>, url: Option<Secret>) -> Option<Secret> {
    if !section.has(&URL) {
        section.missing(&URL, "write it like \"env:ALERTS_URL\"");
    }
    let url = url?;
    // The message does not quote the URL, because it is a secret.
    if http_url(url.expose()).is_err() {
        section.problem(
            &URL,
            "expected an http:// or https:// URL of an allowed host, without a user name or a `#`",
        );
        return None;
    }
    Some(url)
}
