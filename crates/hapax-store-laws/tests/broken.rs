//! A law that no broken store could fail is worthless: stores that break one promise each must be caught by the law of
//! that promise.

#[path = "broken/store.rs"]
mod store;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hapax_store_laws::laws::{
    audit_chain, bindings, claims, dead_groups, durability, erasing, fencing, finishing, identities, indexes,
    jobs, lane_ends, lane_replays, lanes, leasing, owners, purging, purging_ledger, record_conflicts, rescue,
    searching, store_migration, traffic, values,
};
use hapax_store_laws::property::{behaves_like_the_model, behaves_like_the_model_over};
use hapax_store_laws::{Bench, Subject, check};
use store::{BrokenSubject, Fault, SpaceKind};

/// Enough random sequences to expose each fault, by a wide margin.
const CASES: u32 = 2000;

#[test]
fn a_store_that_looks_before_it_inserts_is_caught() {
    is_caught(
        Fault::LooksThenInserts,
        claims::of_many_concurrent_duplicates_exactly_one_is_new,
    );
    is_caught(
        Fault::LooksThenInserts,
        claims::of_duplicates_in_one_batch_exactly_one_is_new,
    );
}

#[test]
fn a_store_that_keeps_too_many_conflicts_of_one_call_is_caught() {
    is_caught(
        Fault::CountsConflictsAlone,
        record_conflicts::many_conflicting_bodies_of_one_identity_in_one_call_keep_the_limit,
    );
    is_caught(
        Fault::CountsConflictsAlone,
        record_conflicts::conflicting_bodies_of_one_identity_that_come_at_once_keep_the_limit,
    );
}

#[test]
fn a_store_that_refuses_the_neighbours_of_a_conflict_is_caught() {
    is_caught(
        Fault::RefusesConflictsTogether,
        record_conflicts::a_conflicting_body_that_cannot_be_kept_fails_alone,
    );
}

#[test]
fn a_store_that_folds_case_is_caught() {
    is_caught(Fault::FoldsCase, identities::ids_compare_as_bytes);
}

#[test]
fn a_store_that_ignores_tokens_is_caught() {
    is_caught(Fault::IgnoresTokens, fencing::a_wrong_token_writes_nothing);
    is_caught(
        Fault::IgnoresTokens,
        fencing::late_finish_after_lease_expiry_is_refused,
    );
    is_caught(
        Fault::IgnoresTokens,
        fencing::a_holder_from_before_a_replay_is_refused,
    );
}

#[test]
fn a_store_that_reuses_tokens_is_caught() {
    is_caught(Fault::ReusesTokens, leasing::tokens_increase_over_everything);
}

#[test]
fn a_store_that_takes_back_live_leases_is_caught() {
    is_caught(Fault::RescuesTheLiving, rescue::a_live_lease_is_not_taken_back);
    is_caught(
        Fault::RescuesTheLiving,
        rescue::an_extended_lease_ends_when_it_was_extended_to,
    );
}

#[test]
fn a_store_that_judges_in_haste_is_caught() {
    is_caught(
        Fault::JudgesInHaste,
        owners::nobody_is_dead_before_the_store_was_reachable_for_long_enough,
    );
    is_caught(
        Fault::JudgesInHaste,
        owners::a_gap_between_reports_puts_off_the_rescue,
    );
}

#[test]
fn a_store_that_leaves_the_dead_what_they_hold_is_caught() {
    is_caught(
        Fault::WaitsForTheDead,
        owners::what_a_dead_owner_holds_is_taken_back_before_its_leases_end,
    );
}

#[test]
fn a_store_that_counts_releases_is_caught() {
    is_caught(
        Fault::CountsReleases,
        finishing::a_released_delivery_is_due_and_its_attempt_does_not_count,
    );
}

#[test]
fn a_store_without_lanes_is_caught() {
    is_caught(Fault::IgnoresLanes, lanes::only_the_head_of_a_lane_is_due);
    is_caught(
        Fault::IgnoresLanes,
        lanes::a_lane_runs_one_at_a_time_while_many_accept,
    );
}

#[test]
fn a_store_whose_dead_heads_hold_nothing_is_caught() {
    is_caught(
        Fault::NeverHolds,
        lane_ends::a_dead_head_holds_its_lane_until_it_is_discarded,
    );
    is_caught(
        Fault::NeverHolds,
        lane_replays::a_dead_head_holds_up_only_those_after_it,
    );
}

#[test]
fn a_store_that_purges_in_the_wrong_order_is_caught() {
    is_caught(
        Fault::PurgesLedgerFirst,
        purging_ledger::a_ledger_entry_goes_only_after_its_event,
    );
    is_caught(
        Fault::PurgesDeadLetters,
        purging::a_dead_letter_keeps_its_event_for_the_dead_window,
    );
}

#[test]
fn a_store_that_forgets_in_a_crash_is_caught() {
    is_caught(
        Fault::LosesEverything,
        durability::what_was_answered_is_there_after_a_crash,
    );
    is_caught(
        Fault::LosesEverything,
        durability::the_ledger_dedupes_after_a_crash,
    );
}

#[test]
fn a_store_that_goes_on_with_a_cancelled_job_is_caught() {
    is_caught(
        Fault::AdvancesCancelledJobs,
        jobs::a_cancelled_job_does_not_advance,
    );
}

#[test]
fn a_store_that_copies_badly_is_caught() {
    is_caught(
        Fault::CopiesWithoutWork,
        store_migration::copied_work_is_leased_and_finished,
    );
    is_caught(
        Fault::CopiesWithoutNumbers,
        store_migration::tokens_of_a_copy_are_greater_than_all_before,
    );
    is_caught(
        Fault::CopiesIntoAnything,
        store_migration::only_an_empty_store_takes_a_copy,
    );
}

#[test]
fn a_store_that_lets_everybody_drive_a_job_is_caught() {
    is_caught(Fault::SharesJobs, jobs::a_job_is_driven_by_one_at_a_time);
}

#[test]
fn a_store_that_ignores_filters_is_caught() {
    let fault = Fault::IgnoresFilters;
    is_caught(fault, searching::events_are_found_by_where_they_went);
    is_caught(fault, searching::events_are_found_by_why_they_were_given_up);
    is_caught(fault, searching::events_are_found_by_their_duplicates);
    is_caught(fault, searching::events_are_found_by_their_conflicts);
    is_caught(fault, searching::events_are_found_by_values_in_their_bodies);
    is_caught(
        fault,
        searching::indexed_values_are_found_without_reading_other_bodies,
    );
}

#[test]
fn a_store_that_binds_a_name_to_any_body_is_caught() {
    is_caught(
        Fault::BindsToAnything,
        bindings::a_name_is_bound_to_the_first_body_over_a_restart,
    );
    is_caught(
        Fault::BindsToAnything,
        bindings::of_several_that_bind_one_name_one_succeeds,
    );
}

#[test]
fn a_store_that_loses_the_end_of_the_audit_trail_is_caught() {
    is_caught(Fault::LosesTheAuditHead, audit_chain::audit_entries_are_a_chain);
    is_caught(
        Fault::LosesTheAuditHead,
        audit_chain::the_audit_chain_is_transferred,
    );
}

#[test]
fn a_store_that_erases_badly_is_caught() {
    is_caught(
        Fault::ErasesNothing,
        erasing::what_an_erased_event_brought_is_gone,
    );
    is_caught(
        Fault::ErasesUnfinishedWork,
        erasing::unfinished_deliveries_of_an_erased_event_are_discarded_on_purpose,
    );
}

#[test]
fn a_store_that_keeps_what_people_look_at_badly_is_caught() {
    is_caught(
        Fault::MixesTraffic,
        traffic::a_row_of_traffic_replaces_itself_alone,
    );
    is_caught(
        Fault::ForgetsIndexes,
        indexes::a_field_is_indexed_since_it_was_declared_without_interruption,
    );
    is_caught(
        Fault::GroupsDiscarded,
        dead_groups::only_what_is_dead_now_is_in_a_group,
    );
}

#[test]
fn a_store_that_swaps_values_badly_in_any_space_is_caught() {
    for space in [SpaceKind::SavedSearches, SpaceKind::Alerts, SpaceKind::Source] {
        let blind = Fault::SwapsBlindly(space);
        is_caught(blind, values::a_value_is_swapped_only_from_what_it_is);
        is_caught(blind, values::of_several_that_swap_one_value_one_succeeds);
        is_caught(blind, values::a_value_is_taken_once);
    }
    for space in [SpaceKind::SavedSearches, SpaceKind::Alerts] {
        is_caught(
            Fault::KeepsEveryValue(space),
            values::at_most_so_many_values_are_kept,
        );
    }
    is_caught(Fault::MixesSources, values::spaces_do_not_share_values);
}

#[test]
fn the_property_test_catches_faults_by_itself() {
    behaves_like_the_model(&subject(Fault::Nothing));
    for fault in [Fault::IgnoresTokens, Fault::CountsReleases, Fault::NeverHolds] {
        let outcome = catch_unwind(|| behaves_like_the_model_over(&subject(fault), CASES));
        assert!(outcome.is_err(), "{fault:?} went unnoticed");
    }
}

/// The law holds for the wrapper without its fault, and fails with it.
fn is_caught(fault: Fault, law: impl AsyncFnOnce(&mut Bench) + Copy) {
    check(subject(Fault::Nothing), law);
    let outcome = catch_unwind(AssertUnwindSafe(|| check(subject(fault), law)));
    assert!(outcome.is_err(), "{fault:?} went unnoticed");
}

fn subject(fault: Fault) -> Arc<dyn Subject> {
    Arc::new(BrokenSubject::new(fault))
}
