//! How deliveries are attempted: the keys that `[destinations.NAME]` and `[outbox.NAME]` share. A constant is a key that
//! each table declares with some difference.

use std::time::Duration;

use hapax_core::{Backoff, OnDead, Secret};
use hapax_verify::catalogue;
use hapax_verify::sign::Signer;

use super::section::Section;
use super::setting::{Key, Table, words};
use hapax_api::duration::format_duration;

pub(super) static TIMEOUT: Key<Duration> = Key::with_default(
    "timeout",
    "10s",
    "How long one attempt may take. Less than `lease`, where there is one.",
)
.within("10ms", "1h");

pub(super) const CONCURRENCY: Key<u32> =
    Key::with_default("concurrency", "32", "How many attempts run at once, per replica.").within("1", "1024");

pub(super) static MAX_ATTEMPTS: Key<u32> = Key::with_default(
    "max_attempts",
    "12",
    "The number of failed attempts after which a delivery is dead.",
)
.within("1", "100");

pub(super) const SIGNING_SECRET: Key<Secret> =
    Key::optional("secret", "Signs the outgoing request by Standard Webhooks.");

pub(super) const IDEMPOTENCY_KEY: Key<KeyForm> = Key::with_default(
    "idempotency_key",
    "plain",
    "How the `Idempotency-Key` header is written: `plain`, as most middleware compares it, or `quoted`, as the IETF's draft asks.",
);

pub(super) static ON_DEAD: Key<OnDead> = Key::with_default(
    "on_dead",
    "hold",
    "What a dead delivery does to those behind it: `hold` or `skip`. Only with `order_by`, or for rows with an `order_key`.",
);

pub(super) static ATTEMPT_BACKOFF: Key<toml::Table> = Key::with_default(
    "backoff",
    "{}",
    "How long to wait between attempts; see `[destinations.NAME.backoff]`.",
);

static FIRST: Key<Duration> =
    Key::with_default("first", "1s", "The longest wait after the first attempt.").within("1ms", "1d");

static CAP: Key<Duration> =
    Key::with_default("cap", "1h", "The longest wait ever. At least `first`.").within("1ms", "7d");

pub(super) static BACKOFF: Table = Table {
    header: "[destinations.NAME.backoff]",
    help: "Waits double from `first` up to `cap`. Each is a random time between zero and that limit.",
    keys: &[&FIRST, &CAP],
};

words!(OnDead { Hold, Skip });
words!(KeyForm { Plain, Quoted });

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

pub(super) fn read_backoff(section: &mut Section<'_, '_, '_>) -> Backoff {
    let mut inner = section.inner(&ATTEMPT_BACKOFF, &BACKOFF);
    let first = inner.get(&FIRST);
    let cap = inner.get_or(&CAP, || CAP.default_value().max(first));
    if first > cap {
        inner.problem(
            &FIRST,
            format_args!("is longer than `cap`, which is {}", format_duration(cap)),
        );
    }
    let shown = inner.into_value();
    section.show(&ATTEMPT_BACKOFF, shown);
    Backoff { first, cap }
}

/// Outgoing requests are signed as in Standard Webhooks. A secret that cannot sign is reported now.
pub(super) fn check_signing_secret(section: &mut Section<'_, '_, '_>, secret: Option<&Secret>) {
    let standard = catalogue::get("standard-webhooks").and_then(|standard| standard.proof.scheme());
    let (Some(secret), Some(scheme)) = (secret, standard) else {
        return;
    };
    if let Err(error) = Signer::new(scheme, secret.expose()) {
        section.problem(
            SIGNING_SECRET.name(),
            format_args!("{error} (Standard Webhooks: \"whsec_\" and base64)"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_wait_as_those_of_the_engine() {
        let declared = Section::of_nothing(&super::super::OUTBOX, read_backoff);
        assert_eq!(declared, Backoff::default());
    }
}
