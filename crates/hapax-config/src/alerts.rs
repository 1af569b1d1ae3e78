//! `[alerts]` and `[alerts.receivers.NAME]`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use hapax_core::Secret;

use super::command_env::{self, CommandEnv};
use super::destination::{argv, check_signing_secret};
use super::http_url::http_url;
use super::keys::{ALERTS, RECEIVER};
use super::section::{Section, join};
use super::{as_table, named_tables};
use hapax_api::alert::{Rule, Unit};

const COUNT: RangeInclusive<u32> = 0..=1_000_000_000;
const LONG: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(30 * 86_400);
const RESOLVE_AFTER: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(86_400);
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);
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

impl ReceiverKind {
    /// The kind as written in the file.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Slack { .. } => "slack",
            Self::Webhook { .. } => "webhook",
            Self::Command { .. } => "command",
        }
    }
}

/// A rule's default limit, in its unit.
pub(super) const fn default_limit(rule: Rule) -> f64 {
    match rule {
        Rule::DedupeRate => 0.5,
        Rule::HandlerP95 => 5.0,
        Rule::OldestPending | Rule::OutboxWaiting => 600.0,
        Rule::DeadLetters | Rule::Conflicts | Rule::OutboxRefused => 0.0,
        Rule::BreakerOpen | Rule::OutboxDown => 60.0,
        Rule::SignatureFailures => 10.0,
        Rule::DuplicateGap => 0.8,
        Rule::StoreWriteP95 => 1.0,
    }
}

pub(super) fn read(mut section: Section<'_, '_, '_>) -> Alerts {
    let limits = Rule::ALL
        .into_iter()
        .filter_map(|rule| Some((rule, limit(&mut section, rule)?)))
        .collect();
    let resolve_after = section.duration("resolve_after", Duration::from_secs(60), &RESOLVE_AFTER);
    let tables = section.table("receivers").and_then(as_table);
    let tables = named_tables("alerts.receivers", tables, section.report);
    if tables.len() > RECEIVERS_MAX {
        let message = format!("there are {}; at most {RECEIVERS_MAX} are told", tables.len());
        section.problem("receivers", message);
    }
    let mut receivers = BTreeMap::new();
    for (name, table) in tables {
        let path = join("alerts.receivers", name);
        let section = Section::open(path, &RECEIVER, Some(table), BTreeMap::new(), section.report);
        receivers.extend(read_receiver(section).map(|receiver| (name.to_owned(), receiver)));
    }
    Alerts {
        limits,
        resolve_after,
        receivers,
    }
}

/// `None` if the rule is switched off.
fn limit(section: &mut Section<'_, '_, '_>, rule: Rule) -> Option<f64> {
    debug_assert!(ALERTS.has(rule.as_str()));
    let (name, default) = (rule.as_str(), default_limit(rule));
    if section.is_off(name) {
        return None;
    }
    Some(match rule.unit() {
        Unit::Share => section.share(name).unwrap_or(default),
        Unit::Count => f64::from(section.integer(name, default as u32, &COUNT)),
        Unit::Seconds => section
            .duration(name, Duration::from_secs_f64(default), &LONG)
            .as_secs_f64(),
    })
}

fn read_receiver(mut section: Section<'_, '_, '_>) -> Option<Receiver> {
    // All keys are read for every kind, so that a mistake in any of them is reported now.
    let url = section.secret("url");
    let secret = section.secret("secret");
    let command = section.texts("command");
    let env = command_env::read(&mut section);
    let timeout = section.duration("timeout", Duration::from_secs(10), &TIMEOUT);
    if !section.has("kind") {
        section.missing("kind", "write kind = \"slack\", \"webhook\" or \"command\"");
        return None;
    }
    let kind = match section.choice("kind", &["slack", "webhook", "command"])? {
        "slack" => {
            refuse(&mut section, "slack", &["secret", "command", "env"]);
            let url = read_url(&mut section, url)?;
            ReceiverKind::Slack { url }
        }
        "webhook" => {
            refuse(&mut section, "webhook", &["command", "env"]);
            check_signing_secret(&mut section, secret.as_ref());
            let url = read_url(&mut section, url)?;
            ReceiverKind::Webhook { url, secret }
        }
        _ => {
            refuse(&mut section, "command", &["url", "secret"]);
            if !section.has("command") {
                section.missing("command", "write it like [\"./on-alert.sh\"]");
            }
            let argv = argv(&mut section, command)?;
            ReceiverKind::Command { argv, env }
        }
    };
    Some(Receiver { kind, timeout })
}

fn read_url(section: &mut Section<'_, '_, '_>, url: Option<Secret>) -> Option<Secret> {
    if !section.has("url") {
        section.missing("url", "write it like \"env:ALERTS_URL\"");
    }
    let url = url?;
    // The message does not quote the URL, because it is a secret.
    if http_url(url.expose()).is_err() {
        section.problem(
            "url",
            "expected an http:// or https:// URL of a host that may be called, without a user name and without a `#`",
        );
        return None;
    }
    Some(url)
}

fn refuse(section: &mut Section<'_, '_, '_>, kind: &str, others: &[&str]) {
    for name in others {
        if section.has(name) {
            section.problem(
                name,
                format_args!("does not apply to a receiver of kind \"{kind}\"; remove it"),
            );
        }
    }
}
