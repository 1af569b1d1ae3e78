//! What needs attention, most urgent first, each with a sentence and a link to a page.

use std::time::Duration;

use hapax_core::store::{EventQuery, Has};
use hapax_core::{SourceName, Timestamp};

use super::super::alerts::is_visible;
use super::super::state::AdminState;
use hapax_alerts::Alert;
use hapax_api::alert::Rule;
use hapax_api::path::Parameters;
use hapax_api::query;
use hapax_api::views::{
    AttentionKind, AttentionView, DestinationStatsView, OutboxHealthView, PauseView, SourceTrafficView,
    TrafficView,
};

/// How long a refusal is listed.
const REFUSAL_IS_RECENT: Duration = Duration::from_secs(3_600);
/// A duplicate that arrives after this share of the ledger window is a warning: the next one may arrive too late.
const GAP_PERCENT_MAX: u64 = 50;

pub(super) fn of(
    state: &AdminState,
    traffic: &TrafficView,
    places: &[DestinationStatsView],
    outboxes: &[OutboxHealthView],
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
    for outbox in outboxes {
        found.extend(outbox_down(outbox));
        found.extend(outbox_refused(outbox));
    }
    for source in &traffic.sources {
        found.extend(conflicts(source));
        found.extend(gap(source, window_of(&source.source)));
        found.extend(refused(state, &source.source, now));
    }
    for alert in state.alerts.iter().flat_map(|alerts| alerts.known().to_vec()) {
        if alert.state == hapax_api::alert::State::Firing && is_visible(state, &alert) {
            add(&mut found, alert);
        }
    }
    found.sort_by_key(|attention| attention.kind);
    found
}

/// Marks the entry of a firing alert, or adds one, so that nothing is listed twice.
fn add(found: &mut Vec<AttentionView>, alert: Alert) {
    let (kind, link) = place_of(alert.rule);
    let is_same = |one: &&mut AttentionView| one.kind == kind && one.subject == alert.subject;
    if let Some(one) = found.iter_mut().find(is_same) {
        one.firing_since = Some(alert.since);
        return;
    }
    found.push(AttentionView {
        kind,
        subject: alert.subject,
        count: 1,
        sentence: alert.sentence,
        link: link.to_owned(),
        firing_since: Some(alert.since),
    });
}

/// The kind of issue that a rule detects, and the page to handle it on.
const fn place_of(rule: Rule) -> (AttentionKind, &'static str) {
    match rule {
        Rule::DedupeRate => (AttentionKind::Duplicates, "/sources"),
        Rule::HandlerP95 => (AttentionKind::Slow, "/destinations"),
        Rule::OldestPending => (AttentionKind::Waiting, "/destinations"),
        Rule::DeadLetters => (AttentionKind::Dead, "/dead"),
        Rule::BreakerOpen => (AttentionKind::Breaker, "/destinations"),
        Rule::Conflicts => (AttentionKind::Conflict, "/sources"),
        Rule::SignatureFailures => (AttentionKind::Refused, "/sources"),
        Rule::DuplicateGap => (AttentionKind::Gap, "/sources"),
        Rule::StoreWriteP95 => (AttentionKind::Store, "/"),
        Rule::OutboxDown => (AttentionKind::OutboxDown, "/outbox"),
        Rule::OutboxRefused => (AttentionKind::OutboxRefused, "/outbox"),
        Rule::OutboxWaiting => (AttentionKind::OutboxWaiting, "/outbox"),
    }
}

fn dead(place: &DestinationStatsView) -> Option<AttentionView> {
    let (count, name) = (place.dead, &place.destination);
    (count > 0).then(|| AttentionView {
        kind: AttentionKind::Dead,
        subject: name.clone(),
        count,
        sentence: format!(
            "{} to {name}: check the cause, then replay or discard them.",
            counted(count, "dead letter")
        ),
        link: "/dead".to_owned(),
        firing_since: None,
    })
}

fn breaker(place: &DestinationStatsView) -> Option<AttentionView> {
    let open_ms = place.breaker_open_ms?;
    Some(AttentionView {
        kind: AttentionKind::Breaker,
        subject: place.destination.clone(),
        count: 1,
        sentence: format!(
            "The destination {} keeps failing, so deliveries are suspended for another {} s; then one delivery tests \
             it.",
            place.destination,
            open_ms.div_ceil(1_000)
        ),
        link: "/destinations".to_owned(),
        firing_since: None,
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
        firing_since: None,
    })
}

fn outbox_down(outbox: &OutboxHealthView) -> Option<AttentionView> {
    let problem = outbox.problem.as_ref()?;
    Some(AttentionView {
        kind: AttentionKind::OutboxDown,
        subject: outbox.outbox.clone(),
        count: 1,
        sentence: format!(
            "The outbox {} cannot be used, and its rows wait: {problem}.",
            outbox.outbox
        ),
        link: "/outbox".to_owned(),
        firing_since: None,
    })
}

fn outbox_refused(outbox: &OutboxHealthView) -> Option<AttentionView> {
    let count = outbox.refused.filter(|count| *count > 0)?;
    Some(AttentionView {
        kind: AttentionKind::OutboxRefused,
        subject: outbox.outbox.clone(),
        count,
        sentence: format!(
            "{} of the outbox {}: check the cause, correct it, then retry or delete the row.",
            counted(count, "refused row"),
            outbox.outbox
        ),
        link: "/outbox".to_owned(),
        firing_since: None,
    })
}

fn conflicts(source: &SourceTrafficView) -> Option<AttentionView> {
    let (count, name) = (source.conflicts, &source.source);
    (count > 0).then(|| AttentionView {
        kind: AttentionKind::Conflict,
        subject: name.clone(),
        count,
        sentence: format!(
            "{} from {name}: a body that differs from the first one with the same id was stored as a conflict.",
            counted(count, "conflict")
        ),
        link: events_link(&EventQuery {
            source: Some(SourceName::from(name.as_str())),
            has: Some(Has::Conflict),
            ..EventQuery::default()
        }),
        firing_since: None,
    })
}

fn gap(source: &SourceTrafficView, window_seconds: u64) -> Option<AttentionView> {
    let percent = (source.gap_ms_max / 10).checked_div(window_seconds)?;
    (percent > GAP_PERCENT_MAX).then(|| AttentionView {
        kind: AttentionKind::Gap,
        subject: source.source.clone(),
        count: 1,
        sentence: format!(
            "A duplicate from {} arrived after {percent}% of its ledger_window: raise it, or a later duplicate is \
             accepted as new.",
            source.source
        ),
        link: "/duplicates".to_owned(),
        firing_since: None,
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
            "{} from {source} in the last hour, the latest with {}: {likely}.",
            counted(recent.len() as u64, "refused request"),
            last.code
        ),
        link: "/sources".to_owned(),
        firing_since: None,
    })
}

/// A link to the events that match a query.
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
    use super::*;
    use hapax_api::views::{PercentilesView, SourceSeriesView};

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
    fn what_fires_is_marked_where_it_is_said_already_and_added_where_it_is_not() {
        let since = Timestamp::from_seconds(5);
        let alert = |rule, subject: &str| Alert {
            rule,
            subject: subject.to_owned(),
            state: hapax_api::alert::State::Firing,
            since,
            resolved_at: None,
            value: 2.0,
            limit: 0.0,
            sentence: "It is wrong.".to_owned(),
            command: String::new(),
            overdue: Vec::new(),
        };
        let mut found = vec![conflicts(&source(0)).unwrap()];
        add(&mut found, alert(Rule::Conflicts, "shop"));
        assert_eq!((found.len(), found[0].firing_since), (1, Some(since)));
        assert!(found[0].sentence.starts_with("2 conflicts"), "{found:?}");
        add(&mut found, alert(Rule::Conflicts, "another"));
        add(&mut found, alert(Rule::DedupeRate, "shop"));
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].sentence, "It is wrong.");
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
