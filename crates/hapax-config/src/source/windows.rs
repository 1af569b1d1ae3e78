//! How long a source's event ids and bodies are kept.

use std::time::Duration;

use hapax_verify::catalogue::Provider;

use crate::section::Section;
use crate::setting::Key;
use hapax_api::duration::format_duration;

const DAY: Duration = Duration::from_secs(86_400);
/// The retry window assumed for a provider whose retry window is not known: three days, as is common.
const RETRY_WINDOW_UNKNOWN: Duration = Duration::from_secs(72 * 3600);
/// The maximum is ten years. Longer would be forever, and forever is not a limit.
const RANGE: (&str, &str) = ("1s", "3650d");

pub(super) static LEDGER_WINDOW: Key<Duration> = Key::with_default(
    "ledger_window",
    "30d",
    "How long an event id is remembered. At least the provider's retry window plus a day; an unknown retry window counts as 72 hours.",
)
.within(RANGE.0, RANGE.1);

pub(super) static PAYLOAD_RETENTION: Key<Duration> = Key::with_default(
    "payload_retention",
    "14d",
    "How long bodies are kept. At most `ledger_window`.",
)
.within(RANGE.0, RANGE.1);

pub(super) static DEAD_RETENTION: Key<Duration> = Key::with_default(
    "dead_retention",
    "30d",
    "How long bodies of dead deliveries are kept. At most `ledger_window`.",
)
.within(RANGE.0, RANGE.1);

pub(super) struct Windows {
    pub(super) ledger: Duration,
    pub(super) payload: Duration,
    pub(super) dead: Duration,
}

pub(super) fn read(section: &mut Section<'_, '_, '_>, provider: Option<&Provider>) -> Windows {
    let ledger = section.get(&LEDGER_WINDOW);
    check_ledger(section, provider, ledger);
    // The defaults are shortened to fit a short ledger window. Configured values are not.
    let [payload, dead] = [&PAYLOAD_RETENTION, &DEAD_RETENTION].map(|key| {
        let retention = section.get_or(key, || key.default_value().min(ledger));
        if retention > ledger {
            section.problem(
                key,
                format_args!(
                    "{} is longer than `ledger_window`, which is {}, but no body may outlive its id; shorten this one \
                     or lengthen `ledger_window`",
                    format_duration(retention),
                    format_duration(ledger)
                ),
            );
        }
        retention
    });
    Windows {
        ledger,
        payload,
        dead,
    }
}

/// The shortest `ledger_window`: the provider's retry window plus a day.
pub fn ledger_window_min(provider: Option<&Provider>) -> Duration {
    retry_window(provider).unwrap_or(RETRY_WINDOW_UNKNOWN) + DAY
}

fn retry_window(provider: Option<&Provider>) -> Option<Duration> {
    let hours = provider?.delivery.retry_window_hours?;
    Duration::try_from_secs_f64(hours * 3600.0).ok()
}

/// A late duplicate that the ledger has already forgotten would take effect a second time.
fn check_ledger(section: &mut Section<'_, '_, '_>, provider: Option<&Provider>, ledger: Duration) {
    let known = retry_window(provider);
    let least = ledger_window_min(provider);
    if ledger >= least {
        return;
    }
    let name = provider.map_or("the provider", |provider| provider.title.as_str());
    let repeats = match known {
        Some(window) => format!("{name} retries for up to {}", format_duration(window)),
        None => format!(
            "the retry window of {name} is unknown and counts as {}",
            format_duration(RETRY_WINDOW_UNKNOWN)
        ),
    };
    section.problem(
        &LEDGER_WINDOW,
        format_args!(
            "{} forgets ids too early: {repeats}, and a late duplicate would take effect twice; use at least {}",
            format_duration(ledger),
            format_duration(least)
        ),
    );
}
