//! Interprets the figures: whether the window is long enough, and what to investigate at the provider.

use std::time::Duration;

use hapax_core::store::{TimeRange, Traffic};
use hapax_verify::catalogue;

use hapax_api::readable;
use hapax_api::views::{FindingKind, FindingView, SourceView, WindowAdvice, WindowView};
use hapax_config::ledger_window_min;

const DAY: Duration = Duration::from_secs(86_400);
/// If the largest gap exceeds this share of the window, the window is too short.
const USED_MAX: f64 = 0.8;
/// Below this share, a shorter window is worth recommending.
const USED_LITTLE: f64 = 0.05;
/// Minimum number of duplicates that shows how late a provider redelivers.
const COPIES_TO_JUDGE: u64 = 100;
/// Lowering the window is recommended if it could be shorter by at least this factor.
const WORTH_LOWERING: u32 = 2;
/// Above this share of events with identical bodies, a provider's ids are considered unstable.
const TWINS_SHARE_MAX: f64 = 0.05;
/// Minimum number of events with identical bodies. Fewer may be chance.
const TWINS_MIN: u64 = 10;

/// Whether the ledger window is long enough for this source.
pub(super) fn window(
    name: &str,
    source: Option<&SourceView>,
    total: &Traffic,
    span: TimeRange,
) -> WindowView {
    let gap = Duration::from_millis(total.gap_ms_max);
    let Some(source) = source else {
        return unknown(format!("{name}: no longer configured, so it has no window"));
    };
    let window = Duration::from_secs(source.ledger_window_seconds);
    let least = ledger_window_min(source.provider.as_deref().and_then(catalogue::get));
    let used = gap.as_secs_f64() / window.as_secs_f64().max(1.0);
    let (advice, to) = judge(source, total, span, window, least);
    WindowView {
        ledger_window_seconds: Some(window.as_secs()),
        least_seconds: Some(least.as_secs()),
        used: (total.duplicates > 0).then_some(used),
        advice,
        recommended_seconds: to.map(|to| to.as_secs()),
        sentence: sentence(name, total, span, window, advice, to),
    }
}

fn unknown(sentence: String) -> WindowView {
    WindowView {
        ledger_window_seconds: None,
        least_seconds: None,
        used: None,
        advice: WindowAdvice::Unknown,
        recommended_seconds: None,
        sentence,
    }
}

fn judge(
    source: &SourceView,
    total: &Traffic,
    span: TimeRange,
    window: Duration,
    least: Duration,
) -> (WindowAdvice, Option<Duration>) {
    if total.duplicates == 0 {
        return (WindowAdvice::Unknown, None);
    }
    let gap = Duration::from_millis(total.gap_ms_max);
    let enough = whole_days(gap * 2).max(whole_days(least));
    let used = gap.as_secs_f64() / window.as_secs_f64().max(1.0);
    if used > USED_MAX {
        return (WindowAdvice::Raise, Some(enough));
    }
    // Only the longest range with many duplicates can show that less would suffice. The window of an outbox is fixed.
    let may_judge = span == TimeRange::Week && total.duplicates >= COPIES_TO_JUDGE && source.scheme.is_some();
    if may_judge && used < USED_LITTLE && window >= enough * WORTH_LOWERING {
        return (WindowAdvice::MayLower, Some(enough));
    }
    (WindowAdvice::Fine, None)
}

fn whole_days(length: Duration) -> Duration {
    let days = length.as_secs().div_ceil(DAY.as_secs());
    DAY * u32::try_from(days).unwrap_or(u32::MAX)
}

fn sentence(
    name: &str,
    total: &Traffic,
    span: TimeRange,
    window: Duration,
    advice: WindowAdvice,
    to: Option<Duration>,
) -> String {
    let gap = readable::duration(Duration::from_millis(total.gap_ms_max));
    let to = to.map_or(0, |to| to.as_secs() / DAY.as_secs());
    let window = readable::duration(window);
    match advice {
        WindowAdvice::Unknown => format!(
            "{name}: no duplicates in the last {}, window {window}: not enough data",
            span.as_str()
        ),
        WindowAdvice::Fine => format!("{name}: largest gap {gap}, window {window}: fine"),
        WindowAdvice::Raise => format!(
            "{name}: largest gap {gap}, window {window}: too short; raise `ledger_window` to \"{to}d\", or a later \
             duplicate is accepted as new and takes effect again"
        ),
        WindowAdvice::MayLower => {
            format!("{name}: largest gap {gap}, window {window}: fine; \"{to}d\" would be enough")
        }
    }
}

/// Findings to investigate.
pub(super) fn findings(total: &Traffic, window: &WindowView) -> Vec<FindingView> {
    let late = (window.advice == WindowAdvice::Raise).then(|| FindingView {
        kind: FindingKind::Window,
        sentence: window.sentence.clone(),
    });
    [late, unstable(total), reused(total)]
        .into_iter()
        .flatten()
        .collect()
}

fn unstable(total: &Traffic) -> Option<FindingView> {
    let share = total.same_bodies as f64 / total.accepted.max(1) as f64;
    (total.same_bodies >= TWINS_MIN && share > TWINS_SHARE_MAX).then(|| FindingView {
        kind: FindingKind::UnstableIds,
        sentence: format!(
            "{} of {} new events ({:.1}%) had the same body as a recent event under another id. If these are \
             duplicates, the provider's ids are not stable, and each takes effect again. Compare two of them, and use \
             an id that stays the same: `event_id = \"body:/order/id\"`, a list of locations, or `body-sha256`.",
            total.same_bodies,
            total.accepted,
            share * 100.0
        ),
    })
}

fn reused(total: &Traffic) -> Option<FindingView> {
    (total.conflicts > 0).then(|| FindingView {
        kind: FindingKind::ReusedIds,
        sentence: format!(
            "Requests with a known id and a different body: {}. They were stored as conflicts and not delivered. Compare \
             them with `hapax conflicts`: if they are different events, the id is not unique, and `event_id` needs a \
             list of locations; if they are the same event, the provider changes its body on a retry.",
            total.conflicts
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(window_days: u64) -> SourceView {
        serde_json::from_value(serde_json::json!({
            "name": "stripe", "provider": "stripe", "scope": "stripe", "deliver_to": [], "secrets": 1,
            "ledger_window_seconds": window_days * 86_400, "payload_retention_seconds": 1, "dead_retention_seconds": 1,
            "scheme": "hmac",
        }))
        .unwrap()
    }

    fn total(hours: u64) -> Traffic {
        Traffic {
            accepted: 1_000,
            duplicates: 200,
            gap_ms_max: hours * 3_600_000,
            ..Traffic::default()
        }
    }

    fn told(window_days: u64, hours: u64) -> String {
        window(
            "stripe",
            Some(&source(window_days)),
            &total(hours),
            TimeRange::Week,
        )
        .sentence
    }

    #[test]
    fn a_window_is_judged_in_one_sentence() {
        assert_eq!(told(30, 71), "stripe: largest gap 71 h, window 30 d: fine");
        assert_eq!(
            told(30, 25 * 24),
            "stripe: largest gap 25 d, window 30 d: too short; raise `ledger_window` to \"50d\", or a later duplicate \
             is accepted as new and takes effect again"
        );
        assert_eq!(
            told(30, 1),
            "stripe: largest gap 1 h, window 30 d: fine; \"4d\" would be enough"
        );
        assert_eq!(
            window("old", None, &total(1), TimeRange::Week).sentence,
            "old: no longer configured, so it has no window"
        );
        assert_eq!(
            window("stripe", Some(&source(30)), &Traffic::default(), TimeRange::Day).sentence,
            "stripe: no duplicates in the last 24h, window 30 d: not enough data"
        );
    }

    #[test]
    fn a_window_is_never_lowered_below_the_retry_window_and_a_day() {
        for hours in 0..24 {
            let view = window("stripe", Some(&source(30)), &total(hours), TimeRange::Week);
            let least = view.least_seconds.unwrap();
            assert!(view.recommended_seconds.is_none_or(|to| to >= least), "{view:?}");
        }
    }

    #[test]
    fn few_duplicates_or_a_short_look_lower_nothing() {
        let few = Traffic {
            duplicates: 3,
            ..total(1)
        };
        assert_eq!(
            window("s", Some(&source(30)), &few, TimeRange::Week).advice,
            WindowAdvice::Fine
        );
        assert_eq!(
            window("s", Some(&source(30)), &total(1), TimeRange::Day).advice,
            WindowAdvice::Fine
        );
    }

    #[test]
    fn exactly_four_fifths_of_the_window_is_fine_and_more_is_not() {
        let advice = |hours| window("s", Some(&source(10)), &total(hours), TimeRange::Week).advice;
        assert_eq!(
            (advice(192), advice(193)),
            (WindowAdvice::Fine, WindowAdvice::Raise)
        );
    }

    #[test]
    fn twins_above_their_share_and_conflicts_are_findings() {
        let view = window("s", Some(&source(30)), &total(71), TimeRange::Week);
        let kinds = |twins, conflicts| -> Vec<FindingKind> {
            let total = Traffic {
                same_bodies: twins,
                conflicts,
                ..total(71)
            };
            findings(&total, &view)
                .iter()
                .map(|finding| finding.kind)
                .collect()
        };
        assert_eq!(kinds(50, 0), [], "exactly the limit");
        assert_eq!(kinds(51, 0), [FindingKind::UnstableIds]);
        assert_eq!(kinds(0, 1), [FindingKind::ReusedIds]);
    }
}
