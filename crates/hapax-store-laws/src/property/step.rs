//! The steps, and how they are drawn: few identities and lanes, so that steps interact.

use hapax_core::store::{Disposal, ReplayMode, Unfinished};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The destinations in the property test.
const DESTINATIONS: [&str; 4] = ["free", "ordered", "other", "extra"];
pub(super) const IDENTITIES: usize = 5;

/// One thing that happens to a store.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Accept(Vec<DraftEvent>),
    Lease {
        destination: &'static str,
        limit: u32,
    },
    Finish {
        hold: Index,
        end: End,
    },
    Extend {
        hold: Index,
    },
    Expire,
    Replay {
        event: Index,
        mode: ReplayMode,
        reach: Reach,
    },
    Forget {
        identity: usize,
    },
    Dispose {
        event: Index,
        destination: &'static str,
        disposal: Disposal,
    },
    Erase {
        event: Index,
        unfinished: Unfinished,
    },
    Purge {
        payload: Sweep,
        dead: Sweep,
        ledger: Sweep,
        limit: u32,
    },
    Pause {
        destination: &'static str,
    },
    Resume {
        destination: &'static str,
    },
    RecordConflict {
        event: Index,
        body: u8,
    },
    NoteDuplicates {
        event: Index,
    },
    Reopen,
}

/// An event that arrives.
#[derive(Clone, Debug)]
pub(super) struct DraftEvent {
    pub(super) identity: usize,
    pub(super) body: u8,
    pub(super) route: Route,
    pub(super) lane: &'static str,
}

/// Where an arrival goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Route {
    Nowhere,
    Free,
    Both,
    Handed,
    Held,
    Skipped,
    HeldAndFree,
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Complete,
    RetryNow,
    RetryLater,
    Die,
    Release,
}

/// What a replay reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    All,
    Extra,
}

/// Whether something is deleted in a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sweep {
    Goes,
    Stays,
}

/// Sequences of at most `most` steps.
pub(super) fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..=most)
}

fn step() -> impl Strategy<Value = Step> {
    // Most steps use the first two.
    let destination = || prop_oneof![4 => select(&DESTINATIONS[..2]), 1 => select(&DESTINATIONS[..])];
    prop_oneof![
        8 => prop::collection::vec(arrival(), 1..=3).prop_map(Step::Accept),
        9 => (destination(), 1..4_u32).prop_map(|(destination, limit)| Step::Lease { destination, limit }),
        9 => (any::<Index>(), end()).prop_map(|(hold, end)| Step::Finish { hold, end }),
        2 => any::<Index>().prop_map(|hold| Step::Extend { hold }),
        3 => Just(Step::Expire),
        4 => (any::<Index>(), mode(), select(vec![Reach::All, Reach::All, Reach::Extra]))
            .prop_map(|(event, mode, reach)| Step::Replay { event, mode, reach }),
        2 => (0..IDENTITIES).prop_map(|identity| Step::Forget { identity }),
        2 => (any::<Index>(), destination(), select(vec![Disposal::Discard, Disposal::Discard, Disposal::Restore]))
            .prop_map(|(event, destination, disposal)| Step::Dispose { event, destination, disposal }),
        1 => (any::<Index>(), select(vec![Unfinished::Keep, Unfinished::Discard]))
            .prop_map(|(event, unfinished)| Step::Erase { event, unfinished }),
        2 => (sweep(), sweep(), sweep(), 1..5_u32)
            .prop_map(|(payload, dead, ledger, limit)| Step::Purge { payload, dead, ledger, limit }),
        1 => destination().prop_map(|destination| Step::Pause { destination }),
        1 => destination().prop_map(|destination| Step::Resume { destination }),
        1 => (any::<Index>(), 0..3_u8).prop_map(|(event, body)| Step::RecordConflict { event, body }),
        1 => any::<Index>().prop_map(|event| Step::NoteDuplicates { event }),
        1 => Just(Step::Reopen),
    ]
}

fn arrival() -> impl Strategy<Value = DraftEvent> {
    let routes = vec![
        Route::Nowhere,
        Route::Free,
        Route::Both,
        Route::Handed,
        Route::Held,
        Route::Held,
        Route::Skipped,
        Route::Skipped,
        Route::HeldAndFree,
    ];
    (0..IDENTITIES, 0..2_u8, select(routes), select(vec!["k", "K"])).prop_map(
        |(identity, body, route, lane)| DraftEvent {
            identity,
            body,
            route,
            lane,
        },
    )
}

fn end() -> impl Strategy<Value = End> {
    select(vec![
        End::Complete,
        End::Complete,
        End::RetryNow,
        End::RetryLater,
        End::Die,
        End::Die,
        End::Release,
    ])
}

fn mode() -> impl Strategy<Value = ReplayMode> {
    select(vec![ReplayMode::Failed, ReplayMode::All, ReplayMode::Force])
}

fn sweep() -> impl Strategy<Value = Sweep> {
    select(vec![Sweep::Goes, Sweep::Stays])
}
