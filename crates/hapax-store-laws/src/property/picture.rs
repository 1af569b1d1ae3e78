//! Pictures of what a store shows, without anything that may differ: times, tokens, and the order of unordered items.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hapax_core::DeliveryState;
use hapax_core::store::{AttemptView, Claim, Counts, DeliveryView, EventRecord, LedgerEntry};

/// Whether an identity has had one event or several: records kept by identity, such as duplicates, are compared only in
/// the first case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lives {
    One,
    Several,
}

pub(super) fn of_record(record: Option<&EventRecord>, lives: Lives) -> String {
    let Some(record) = record else {
        return "none".to_owned();
    };
    let mut picture = format!(
        "{:?} {:?} {}\n",
        record.event,
        record.status,
        record.same_body_as.is_some()
    );
    let mut deliveries: Vec<String> = record.deliveries.iter().map(of_delivery).collect();
    deliveries.sort_unstable();
    picture.push_str(&deliveries.join("\n"));
    let mut attempts: BTreeMap<_, Vec<&AttemptView>> = BTreeMap::new();
    for view in &record.attempts {
        attempts.entry(&view.destination).or_default().push(view);
    }
    for (destination, views) in attempts {
        assert!(views.is_sorted_by_key(|view| view.token), "oldest first");
        for view in views {
            let _ = write!(picture, "\n{destination} {} {:?}", view.generation, view.attempt);
        }
    }
    match lives {
        Lives::Several => picture,
        Lives::One => {
            let mut conflicts: Vec<String> =
                record.conflicts.iter().map(|view| format!("{view:?}")).collect();
            conflicts.sort_unstable();
            format!("{picture}\n{:?}\n{}", record.duplicates, conflicts.join("\n"))
        }
    }
}

pub(super) fn of_delivery(view: &DeliveryView) -> String {
    let waits = matches!(view.state, DeliveryState::Pending | DeliveryState::Retrying);
    format!(
        "{} {} {} {} {} attempts {} lost {} due {:?} finished {} {:?} {:?}",
        view.event,
        view.destination,
        of_state(view.state),
        view.generation,
        view.idempotency_key,
        view.attempts,
        view.lost,
        waits.then_some(view.due_at.is_some()),
        view.finished_at.is_some(),
        view.error,
        view.lane,
    )
}

pub(super) fn of_claim(claim: &Claim) -> String {
    match claim {
        Claim::New { generation, tokens } => {
            let handed: Vec<bool> = tokens.iter().map(Option::is_some).collect();
            format!("new {generation} {handed:?}")
        }
        Claim::Seen(entry) => format!("seen {}", of_entry(Some(entry))),
    }
}

pub(super) fn of_entry(entry: Option<&LedgerEntry>) -> String {
    entry.map_or_else(
        || "none".to_owned(),
        |entry| {
            format!(
                "{} {} {} {} {:?}",
                entry.id, entry.generation, entry.expires_at, entry.raw_hash, entry.content_hash
            )
        },
    )
}

/// The backlog and the number of events; the ledger is compared entry by entry.
pub(super) fn of_counts(counts: &Counts) -> String {
    let mut backlog: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for row in counts.backlog.iter().filter(|row| row.count > 0) {
        assert!(
            row.oldest.is_some(),
            "a non-empty state has an oldest delivery: {row:?}"
        );
        *backlog
            .entry((row.destination.to_string(), of_state(row.state)))
            .or_default() += row.count;
    }
    format!("{backlog:?} {}", counts.events)
}

/// Released and rescued deliveries that failed before may be stored as pending or as retrying.
fn of_state(state: DeliveryState) -> &'static str {
    match state {
        DeliveryState::Pending | DeliveryState::Retrying => "waiting",
        DeliveryState::Running
        | DeliveryState::Completed
        | DeliveryState::Dead
        | DeliveryState::Discarded => state.as_str(),
    }
}
