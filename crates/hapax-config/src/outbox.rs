//! `[outbox.NAME]`: a database whose `hapax_outbox` is relayed.

use std::ops::RangeInclusive;
use std::time::Duration;

use hapax_core::{Backoff, OnDead, Secret};

use super::allowed_targets::{self, AllowedTargets};
use super::destination::{
    CONCURRENCY, KeyForm, MAX_ATTEMPTS, TIMEOUT, check_signing_secret, read_backoff, read_key_form,
};
use super::section::Section;
use super::sql::{SqlUrl, read_url};

const POLL: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);
const RETENTION: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3650 * 86_400);
const BATCH: RangeInclusive<u32> = 1..=1_000;
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

pub(super) fn read(name: &str, mut section: Section<'_, '_, '_>) -> Option<Outbox> {
    if !section.has("url") {
        section.missing(
            "url",
            "an outbox needs it, such as \"postgres://user@host/database\"",
        );
    }
    let url = section.reference("url");
    let url = url.and_then(|url| read_url(&mut section, &url));
    let secret = section.secret("secret");
    check_signing_secret(&mut section, secret.as_ref());
    let on_dead = match section.choice("on_dead", &["hold", "skip"]) {
        Some("skip") => OnDead::Skip,
        Some(_) | None => OnDead::Hold,
    };
    Some(Outbox {
        name: name.to_owned(),
        poll: section.duration("poll", Duration::from_secs(1), &POLL),
        retention: section.duration("retention", Duration::from_secs(86_400), &RETENTION),
        batch: section.integer("batch", 100, &BATCH),
        allow_targets: allowed_targets::read(&mut section),
        timeout: section.duration("timeout", Duration::from_secs(10), &TIMEOUT),
        secret,
        key_form: read_key_form(&mut section),
        concurrency: section.integer("concurrency", 32, &CONCURRENCY),
        max_attempts: section.integer("max_attempts", 12, &MAX_ATTEMPTS),
        on_dead,
        backoff: read_backoff(section),
        url: url?,
    })
}
