//! `[outbox.NAME]`: a database whose `hapax_outbox` is relayed.

use std::time::Duration;

use hapax_core::{Backoff, OnDead, Secret};

use super::allowed_targets::{self, ALLOW_TARGETS, AllowedTargets};
use super::attempts::{
    self, ATTEMPT_BACKOFF, KeyForm, MAX_ATTEMPTS, ON_DEAD, TIMEOUT, check_signing_secret, read_backoff,
};
use super::section::Section;
use super::setting::{Key, Table};
use super::sql_url::{self, SqlUrl};

static URL: Key<Secret> = Key::required(
    "url",
    "The database, `postgres://…` or `sqlite:app.db`; `env:NAME`, `file:PATH` and `exec:COMMAND` keep its password out of the file.",
)
.named("URL")
.local();

static POLL: Key<Duration> = Key::with_default(
    "poll",
    "1s",
    "How long to wait at most before looking for new rows; it looks sooner while there is work.",
)
.within("10ms", "1m");

static RETENTION: Key<Duration> =
    Key::with_default("retention", "1d", "How long rows stay after they were relayed.").within("0s", "3650d");

static BATCH: Key<u32> =
    Key::with_default("batch", "100", "The number of rows to claim at a time.").within("1", "1000");

static SIGNING_SECRET: Key<Secret> = attempts::SIGNING_SECRET;
static IDEMPOTENCY_KEY: Key<KeyForm> = attempts::IDEMPOTENCY_KEY;
static CONCURRENCY: Key<u32> = attempts::CONCURRENCY;

pub(super) static OUTBOX: Table = Table {
    header: "[outbox.NAME]",
    help: "A database whose `hapax_outbox` is relayed: calls that were written in the transaction of the business data. \
           The keys from `allow_targets` on are for rows of kind `http`.",
    keys: &[
        &URL,
        &POLL,
        &RETENTION,
        &BATCH,
        &ALLOW_TARGETS,
        &TIMEOUT,
        &SIGNING_SECRET,
        &IDEMPOTENCY_KEY,
        &CONCURRENCY,
        &MAX_ATTEMPTS,
        &ATTEMPT_BACKOFF,
        &ON_DEAD,
    ],
};

/// A delivery's lease outlasts its attempt's timeout by this much.
const LEASE_GRACE: Duration = Duration::from_secs(50);

/// How long a row's key is remembered and a dead call is kept. The same as for a source.
pub const OUTBOX_LEDGER_WINDOW: Duration = Duration::from_secs(30 * 86_400);

/// How long the payload of a completed call is kept.
pub const OUTBOX_PAYLOAD_RETENTION: Duration = Duration::from_secs(14 * 86_400);

/// A database with an outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbox {
    pub name: String,
    pub url: SqlUrl,
    /// The longest wait between polls.
    pub poll: Duration,
    /// How long relayed rows are kept.
    pub retention: Duration,
    /// The number of rows claimed at a time.
    pub batch: u32,
    /// The non-public addresses that a row may name.
    pub allow_targets: AllowedTargets,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// Signs requests as in Standard Webhooks.
    pub secret: Option<Secret>,
    pub key_form: KeyForm,
    /// The most attempts in progress at once.
    pub concurrency: u32,
    /// After this many failed attempts a call is dead.
    pub max_attempts: u32,
    /// The wait between attempts.
    pub backoff: Backoff,
    /// How a dead call affects the calls behind it.
    pub on_dead: OnDead,
}

impl Outbox {
    /// How long a worker may hold a call.
    pub fn lease(&self) -> Duration {
        self.timeout + LEASE_GRACE
    }
}

pub(super) fn read(name: &str, section: &mut Section<'_, '_, '_>) -> Option<Outbox> {
    if !section.has(&URL) {
        section.missing(
            &URL,
            "an outbox needs it, such as \"postgres://user@host/database\"",
        );
    }
    let url = section.reference(&URL);
    let url = url.and_then(|url| sql_url::read(section, &URL, &url));
    let secret = section.secret(&SIGNING_SECRET);
    check_signing_secret(section, secret.as_ref());
    Some(Outbox {
        name: name.to_owned(),
        poll: section.get(&POLL),
        retention: section.get(&RETENTION),
        batch: section.get(&BATCH),
        allow_targets: allowed_targets::read(section),
        timeout: section.get(&TIMEOUT),
        secret,
        key_form: section.get(&IDEMPOTENCY_KEY),
        concurrency: section.get(&CONCURRENCY),
        max_attempts: section.get(&MAX_ATTEMPTS),
        on_dead: section.get(&ON_DEAD),
        backoff: read_backoff(section),
        url: url?,
    })
}
