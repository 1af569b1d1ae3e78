//! What somebody should look at, the most pressing first, each with a sentence and the page to go to.

use std::time::Duration;

use hapax_core::store::{EventQuery, Has};
use hapax_core::{SourceName, Timestamp};

use super::super::state::AdminState;
use super::super::views::{
    AttentionKind, AttentionView, DestinationStatsView, PauseView, SourceTrafficView, TrafficView,
};
use crate::client::Parameters;
use crate::query;

/// How long a refusal is worth a line.
const REFUSAL_IS_RECENT: Duration = Duration::from_secs(3_600);
/// A copy that comes after this share of the ledger's window is a warning: the next may come too late.
const GAP_PERCENT_MAX: u64 = 50;

pub(super) fn of(
    state: &AdminState,
    traffic: &TrafficView,
    places: &[DestinationStatsView],
    now: Timestamp,
) -> Vec<AttentionView> {
    let settings = state.settings.load();
    let window_of = |name: &str| {
        settings
            .source(name)
            .map_or(0, |source| source.ledger_window_seconds)
    };
    let mut found: Vec<AttentionView> = Vec::new();
    for place in places {
        found.extend(dead(place));
        found.extend(breaker(place));
        found.extend(paused(place));
    }
    for source in &traffic.sources {
        found.extend(conflicts(source));
        found.extend(gap(source, window_of(&source.source)));
        found.extend(refused(state, &source.source, now));
    }
    found.sort_by_key(|attention| attention.kind);
    found
}

fn dead(place: &DestinationStatsView) -> Option<AttentionView> {
    let (count, name) = (place.dead, &place.destination);
    (count > 0).then(|| AttentionView {
        kind: AttentionKind::Dead,
        subject: name.clone(),
        count,
        sentence: format!(
            "{} to {name}: look at why, then replay or discard.",
            counted(count, "dead letter")
        ),
        link: "/dead".to_owned(),
    })
}

fn breaker(place: &DestinationStatsView) -> Option<AttentionView> {
    let open_ms = place.breaker_open_ms?;
    Some(AttentionView {
        kind: AttentionKind::Breaker,
        subject: place.destination.clone(),
        count: 1,
        sentence: format!(
            "The destination {} keeps failing, so it gets nothing for another {} s and is then tried with one delivery.",
            place.destination,
            open_ms.div_ceil(1_000)
        ),
        link: "/destinations".to_owned(),
    })
}

fn paused(place: &DestinationStatsView) -> Option<AttentionView> {
    let pause: &PauseView = place.paused.as_ref()?;
    let why = if pause.why.is_empty() {
        "no reason given"
    } else {
        &pause.why
    };
    Some(AttentionView {
        kind: AttentionKind::Paused,
        subject: place.destination.clone(),
        count: 1,
        sentence: format!(
            "The destination {} is paused by {}: {why}.",
            place.destination, pause.by
        ),
        link: "/destinations".to_owned(),
    })
}

fn conflicts(source: &SourceTrafficView) -> Option<AttentionView> {
    let (count, name) = (source.conflicts, &source.source);
    (count > 0).then(|| AttentionView {
        kind: AttentionKind::Conflict,
        subject: name.clone(),
        count,
        sentence: format!(
            "{} from {name}: a body that differs from the first one under its id was kept aside.",
            counted(count, "conflict")
        ),
        link: events_link(&EventQuery {
            source: Some(SourceName::from(name.as_str())),
            has: Some(Has::Conflict),
            ..EventQuery::default()
        }),
    })
}

fn gap(source: &SourceTrafficView, window_seconds: u64) -> Option<AttentionView> {
    let percent = (source.gap_ms_max / 10).checked_div(window_seconds)?;
    (percent > GAP_PERCENT_MAX).then(|| AttentionView {
        kind: AttentionKind::Gap,
        subject: source.source.clone(),
        count: 1,
        sentence: format!(
            "A copy from {} came after {percent}% of its ledger_window: raise it, or a later copy counts as new.",
            source.source
        ),
        link: "/duplicates".to_owned(),
    })
}

fn refused(state: &AdminState, source: &str, now: Timestamp) -> Option<AttentionView> {
    let recent: Vec<_> = state
        .meter
        .refusals(source)
        .into_iter()
        .filter(|refusal| now.since(refusal.at) < REFUSAL_IS_RECENT)
        .collect();
    let last = recent.first()?;
    let likely = last.likely.as_ref().unwrap_or(&last.detail);
    Some(AttentionView {
        kind: AttentionKind::Refused,
        subject: source.to_owned(),
        count: recent.len() as u64,
        sentence: format!(
            "{} from {source} within the hour, the last with {}: {likely}.",
            counted(recent.len() as u64, "refused request"),
            last.code
        ),
        link: "/sources".to_owned(),
    })
}

/// The list of events that fit a query.
fn events_link(query: &EventQuery) -> String {
    let text = query::print(query);
    Parameters::default().with("q", Some(text)).on("/events")
}

fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::views::{PercentilesView, SourceSeriesView};
    use super::*;

    fn source(gap_ms_max: u64) -> SourceTrafficView {
        SourceTrafficView {
            source: "shop".to_owned(),
            received: 4,
            accepted: 1,
            duplicates: 1,
            conflicts: 2,
            rejected: 0,
            dedupe_ratio: Some(0.25),
            gap_ms_max,
            ack: PercentilesView::default(),
            series: SourceSeriesView::default(),
        }
    }

    #[test]
    fn a_copy_after_more_than_half_of_the_window_is_a_warning() {
        let window_seconds = 1_000;
        assert_eq!(gap(&source(500_000), window_seconds), None);
        let warning = gap(&source(510_000), window_seconds).unwrap();
        assert!(
            warning.sentence.contains("after 51% of its ledger_window"),
            "{warning:?}"
        );
        assert_eq!(
            gap(&source(510_000), 0),
            None,
            "a source that is not configured has no window"
        );
    }

    #[test]
    fn conflicts_lead_to_the_events_that_have_them() {
        let attention = conflicts(&source(0)).unwrap();
        assert_eq!(attention.link, "/events?q=source%3Ashop%20has%3Aconflict");
        assert!(
            attention.sentence.starts_with("2 conflicts from shop"),
            "{attention:?}"
        );
    }

    #[test]
    fn one_is_one_and_two_are_several() {
        assert_eq!(
            [counted(1, "thing"), counted(2, "thing")],
            ["1 thing", "2 things"]
        );
    }
}
