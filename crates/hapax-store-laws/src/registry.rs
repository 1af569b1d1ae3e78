//! The single list of laws. The constants [`LAWS`] and [`CHECKS`] and the macro [`laws!`](crate::laws!) are generated
//! from it, so that a store that runs any law runs all of them.

use std::sync::Arc;

use crate::{Subject, check, property};

macro_rules! registry {
    (($dollar:tt) $($topic:ident { $($law:ident,)+ })+) => {
        /// Every law, by topic.
        pub const LAWS: &[(&str, &[&str])] = &[$((stringify!($topic), &[$(stringify!($law)),+])),+];

        /// Every law and the model-based property test, each as a function of a subject and named `topic::law`, for
        /// test harnesses that build their list of tests at run time.
        pub const CHECKS: &[(&str, fn(Arc<dyn Subject>))] = &[
            $($((
                concat!(stringify!($topic), "::", stringify!($law)),
                |subject| check(subject, crate::laws::$topic::$law),
            ),)+)+
            ("property::behaves_like_the_model", |subject| property::behaves_like_the_model(&subject)),
        ];

        /// Generates one test per law, named `topic::law`, and the model-based property test.
        ///
        /// The argument is an expression that creates a [`Subject`](crate::Subject); it runs once per test.
        #[macro_export]
        macro_rules! laws {
            ($dollar subject:expr) => {
                fn subject_of_the_laws() -> ::std::sync::Arc<dyn ::hapax_store_laws::Subject> {
                    ::std::sync::Arc::new($dollar subject)
                }

                $(mod $topic {
                    $(#[test]
                    fn $law() {
                        ::hapax_store_laws::check(
                            super::subject_of_the_laws(),
                            ::hapax_store_laws::laws::$topic::$law,
                        );
                    })+
                })+

                mod property {
                    #[test]
                    fn behaves_like_the_model() {
                        ::hapax_store_laws::property::behaves_like_the_model(
                            &super::subject_of_the_laws(),
                        );
                    }
                }
            };
        }
    };
}

registry! {
    ($)
    claims {
        of_many_concurrent_duplicates_exactly_one_is_new,
        a_copy_is_seen_only_once_the_first_can_be_found,
        of_duplicates_in_one_batch_exactly_one_is_new,
        of_duplicates_in_one_request_exactly_one_is_new,
        batches_in_opposite_order_neither_deadlock_nor_both_win,
        overlapping_requests_store_each_identity_once,
    }
    identities {
        a_copy_is_told_what_the_first_was,
        the_same_write_again_finds_its_own_id,
        one_id_in_two_scopes_is_two_events,
        two_sources_of_one_scope_share_their_ids,
        ids_compare_as_bytes,
        a_finished_event_still_dedupes,
        an_unknown_identity_is_not_found,
    }
    requests {
        answers_come_in_the_order_of_requests_and_events,
        a_redelivered_request_adds_only_what_is_missing,
        a_request_that_fails_fails_alone,
        ids_of_the_same_moment_do_not_collide,
        an_accept_whose_caller_is_gone_happens_whole_or_not_at_all,
    }
    payload {
        a_body_that_is_not_text_comes_back_byte_for_byte,
        an_empty_body_comes_back_empty,
        a_body_of_a_mebibyte_comes_back_whole,
        headers_come_back_as_they_arrived,
        every_field_of_an_event_comes_back,
        a_conflicting_body_comes_back_byte_for_byte,
    }
    leasing {
        a_lease_carries_the_event_its_key_and_its_end,
        a_handed_over_delivery_runs_under_its_token,
        a_leased_delivery_is_not_leased_again,
        the_longest_due_is_leased_first,
        the_limit_of_a_lease_is_kept,
        destinations_do_not_see_each_others_work,
        a_lease_says_when_the_next_is_due,
        fresh_and_suspect_work_are_leased_apart,
        of_many_concurrent_leases_each_delivery_goes_to_one,
        no_token_is_issued_twice,
        tokens_increase_over_everything,
        a_lease_of_no_time_can_be_taken_back_at_once,
    }
    hastening {
        a_hastened_retry_is_due_now,
        hastening_never_delays,
        only_the_retries_of_that_event_are_hastened,
        hastening_what_is_not_there_does_nothing,
    }
    fencing {
        a_wrong_token_writes_nothing,
        a_token_of_another_delivery_writes_nothing,
        late_finish_after_lease_expiry_is_refused,
        an_expired_lease_that_nobody_took_back_still_counts,
        a_second_finish_is_refused,
        of_two_reports_in_one_call_one_counts,
        of_many_concurrent_finishes_one_is_applied,
        a_holder_from_before_a_replay_is_refused,
        each_hold_in_a_call_is_checked_alone,
        empty_calls_do_nothing,
    }
    finishing {
        what_is_released_comes_before_what_was_accepted_later,
        a_completed_delivery_leaves_work_and_becomes_an_outcome,
        a_dead_delivery_leaves_work_and_keeps_its_reason,
        a_retry_waits_and_counts_on,
        a_released_delivery_is_due_and_its_attempt_does_not_count,
        a_handed_over_delivery_can_be_released,
        attempts_are_kept_oldest_first,
        a_release_leaves_no_attempt,
        a_refused_report_leaves_no_attempt,
        one_delivery_does_not_end_another,
        completions_in_one_call_are_each_written_for_themselves,
        a_retry_after_ages_is_not_due_now,
    }
    rescue {
        an_expired_lease_is_a_loss_and_not_an_attempt,
        a_live_lease_is_not_taken_back,
        an_extended_lease_ends_when_it_was_extended_to,
        a_delivery_lost_three_times_is_dead,
        a_lost_delivery_can_be_replayed_with_all_its_chances,
        a_handed_over_delivery_is_rescued_like_any_other,
        the_limit_of_a_rescue_is_kept,
        concurrent_rescues_count_each_loss_once,
    }
    owners {
        what_a_dead_owner_holds_is_taken_back_before_its_leases_end,
        what_was_handed_over_to_a_dead_owner_is_taken_back_too,
        an_owner_that_was_silent_for_less_is_not_dead,
        an_owner_that_never_reported_keeps_its_leases,
        nobody_is_dead_before_the_store_was_reachable_for_long_enough,
        a_gap_between_reports_puts_off_the_rescue,
        an_owner_that_wakes_up_is_fenced_and_goes_on,
        the_leases_of_the_living_stay_when_another_dies,
        no_more_than_asked_for_is_taken_from_a_dead_owner,
        concurrent_reports_count_each_loss_once,
        a_lane_goes_on_where_its_head_died_with_its_owner,
    }
    lanes {
        only_the_head_of_a_lane_is_due,
        completion_promotes_the_next_in_order_of_acceptance,
        events_of_one_request_keep_their_order_in_a_lane,
        a_failing_head_blocks_its_own_key_only,
        a_head_that_is_tried_again_is_still_the_head,
        lanes_of_two_destinations_are_independent,
        work_without_a_lane_waits_for_nobody,
        a_lane_runs_one_at_a_time_while_many_accept,
        a_lane_keeps_its_order_over_a_restart,
    }
    lane_ends {
        a_dead_head_holds_its_lane_until_it_is_discarded,
        a_dead_head_that_holds_its_lane_is_replayed_in_place,
        a_dead_head_is_skipped_where_the_lane_says_so,
        a_lost_head_holds_or_skips_like_any_dead_one,
        a_replay_into_an_empty_lane_is_due,
        a_discarded_head_is_replayed_in_its_place,
    }
    lane_replays {
        a_replay_takes_the_place_of_its_acceptance,
        replays_in_any_order_run_in_order_of_acceptance,
        replays_of_one_call_run_in_order_of_acceptance,
        a_newcomer_stands_behind_replays,
        a_head_that_was_tried_keeps_its_turn,
        a_dead_head_holds_up_only_those_after_it,
        one_that_dies_does_not_hold_up_those_before_it,
        a_discard_beside_a_running_head_lets_nobody_run_beside_it,
        a_replay_to_another_lane_takes_the_place_of_its_acceptance,
        a_lane_runs_one_at_a_time_while_many_replay,
    }
    replay {
        failed_mode_replays_dead_deliveries_only,
        failed_mode_replays_discarded_deliveries,
        failed_mode_leaves_completed_deliveries_alone,
        all_mode_replays_everything_under_the_same_keys,
        force_mode_replays_everything_under_new_keys,
        a_replay_after_a_forced_one_keeps_its_generation,
        no_key_is_given_twice_on_purpose,
        a_replay_of_unfinished_work_is_refused,
        one_unfinished_delivery_refuses_the_event_whole,
        of_many_concurrent_replays_one_puts_work_back,
    }
    replay_reach {
        a_replay_reaches_a_destination_that_came_later,
        an_ignored_event_can_be_sent_somewhere,
        a_replay_to_one_destination_leaves_the_others_alone,
        a_replay_to_a_lane_joins_it,
        each_replay_order_is_decided_alone,
        history_stays_and_is_no_dead_letter,
        a_replayed_delivery_can_die_again,
        a_replayed_delivery_names_its_job,
        a_job_puts_a_delivery_back_once,
        a_job_puts_a_delivery_back_once_whoever_else_does,
    }
    forgetting {
        a_forgotten_identity_is_new_again_as_its_next_generation,
        forgetting_is_refused_while_work_is_unfinished,
        only_a_known_identity_can_be_forgotten,
        a_forgotten_identity_is_not_found_but_its_event_is,
        a_tombstone_survives_a_restart,
        of_duplicates_after_forgetting_one_is_new,
    }
    record_conflicts {
        a_conflicting_body_is_kept_once_and_then_counted,
        at_most_so_many_conflicting_bodies_are_kept,
        conflicting_bodies_of_two_identities_are_kept_apart,
        many_conflicting_bodies_of_one_identity_in_one_call_keep_the_limit,
        conflicting_bodies_of_many_identities_in_one_call_are_answered_in_order,
        conflicting_bodies_of_one_identity_that_come_at_once_keep_the_limit,
        a_conflicting_body_that_cannot_be_kept_fails_alone,
        a_released_conflicting_body_is_marked,
    }
    looking {
        a_list_is_newest_first,
        a_list_can_be_oldest_first,
        pages_from_the_oldest_neither_skip_nor_repeat_under_writes,
        pages_neither_skip_nor_repeat_under_writes,
        a_rare_status_is_found_over_all_pages,
        filters_match_what_they_say,
        odd_characters_in_a_type_are_plain,
    }
    same_body {
        a_body_under_another_id_is_held,
        of_one_body_under_many_ids_at_once_one_runs,
        duplicates_of_a_held_body_are_duplicates,
        only_the_same_body_of_a_scope_is_held,
        a_body_that_was_noted_is_held,
        a_held_event_runs_once_it_is_released,
        only_what_is_held_is_released,
        a_discarded_held_event_stays_so,
        a_held_event_is_in_no_lanes_way,
        a_forgotten_identity_keeps_its_body,
        a_held_event_is_kept_as_long_as_a_dead_letter,
        what_is_held_survives_a_restart,
        a_held_delivery_is_not_replayed_by_its_destination,
    }
    searching {
        events_are_found_by_where_they_went,
        events_are_found_by_why_they_were_given_up,
        events_are_found_by_their_duplicates,
        events_are_found_by_their_conflicts,
        events_are_found_by_either_id,
        events_are_found_by_values_in_their_bodies,
        indexed_values_are_found_without_reading_other_bodies,
        sources_and_types_are_found_alone_and_together,
    }
    counting {
        a_status_follows_from_the_deliveries,
        an_event_without_an_id_is_quarantined_until_it_is_sent_somewhere,
        a_lost_lease_is_not_a_failed_attempt,
        counts_say_how_much_there_is_of_each_state,
        counts_name_the_oldest,
        counts_of_the_ledger_are_by_scope,
        the_connection_epoch_stays_while_nothing_breaks,
    }
    purging {
        unfinished_work_is_never_purged,
        a_replayed_event_is_not_purged,
        payloads_go_by_when_they_were_received,
        a_window_that_was_lengthened_keeps_what_it_covers,
        a_dead_letter_keeps_its_event_for_the_dead_window,
        the_youngest_dead_letter_keeps_the_event,
        a_discarded_dead_letter_can_be_restored_for_the_dead_window,
        other_sources_are_left_alone,
        a_purged_dead_head_lets_its_lane_go_on,
    }
    purging_ledger {
        the_ledger_dedupes_after_the_payload_is_gone,
        a_ledger_entry_goes_only_after_its_event,
        a_ledger_entry_goes_only_after_it_has_expired,
        a_purge_takes_small_bites_and_says_when_there_is_more,
        the_ledger_goes_while_payloads_are_behind,
        a_purge_leaves_nothing_behind,
        a_tombstone_is_purged_like_any_entry,
        accepts_go_on_while_a_purge_runs,
    }
    operating {
        a_probe_changes_nothing_that_matters,
        a_paused_destination_gets_nothing_until_it_is_resumed,
        pauses_are_remembered_over_a_restart,
        a_destination_is_paused_once,
        the_audit_trail_is_kept_newest_first,
        dead_letters_are_listed_newest_first,
        dead_letters_can_be_discarded_and_restored,
        a_disposal_is_for_one_destination,
    }
    jobs {
        a_job_is_kept_over_a_restart,
        a_job_advances_to_its_end,
        a_cancelled_job_does_not_advance,
        an_unknown_job_is_not_made_up,
        a_job_is_driven_by_one_at_a_time,
        a_job_that_is_given_up_is_free,
        jobs_that_share_a_destination_run_one_after_another,
        unfinished_jobs_are_listed_oldest_first,
        all_jobs_are_listed_newest_first,
    }
    tallies {
        duplicates_add_up,
        duplicates_are_listed_and_outlive_the_payload,
        only_the_newest_gaps_are_kept,
        an_event_with_an_earlier_events_body_is_flagged,
        same_bodies_in_one_call_are_flagged,
    }
    audit_chain {
        audit_entries_are_a_chain,
        concurrent_audit_entries_do_not_fork_the_chain,
        the_audit_chain_survives_a_restart,
        the_audit_chain_is_transferred,
        an_audit_trail_that_is_not_the_one_of_before_is_found,
        retention_keeps_the_last_old_audit_entry,
    }
    bindings {
        a_name_is_bound_to_the_first_body_over_a_restart,
        of_several_that_bind_one_name_one_succeeds,
        a_binding_goes_when_its_time_is_over,
    }
    erasing {
        what_an_erased_event_brought_is_gone,
        an_erased_event_that_arrives_again_is_a_duplicate,
        erasing_twice_changes_nothing,
        a_conflict_that_comes_after_an_erasure_can_be_erased,
        unfinished_deliveries_of_an_erased_event_are_discarded_on_purpose,
        an_erased_event_is_never_replayed,
        a_lane_goes_on_without_an_erased_event,
        an_erased_delivery_is_not_the_oldest,
    }
    resealing {
        rows_get_another_form_and_nothing_else_changes,
        a_row_that_has_changed_since_stays_as_it_is,
        what_is_gone_is_not_resealed,
        a_renamed_body_is_still_claimed,
        a_body_that_is_known_by_its_new_name_loses_the_old_one,
    }
    dead_groups {
        dead_letters_are_grouped_by_destination_and_error,
        only_what_is_dead_now_is_in_a_group,
    }
    values {
        values_are_kept_by_name_over_a_restart,
        spaces_do_not_share_values,
        a_value_is_swapped_only_from_what_it_is,
        of_several_that_swap_one_value_one_succeeds,
        a_value_is_taken_once,
        at_most_so_many_values_are_kept,
    }
    traffic {
        a_row_of_traffic_replaces_itself_alone,
        traffic_comes_by_slot_with_its_sums,
        traffic_that_is_not_shown_any_more_goes,
    }
    indexes {
        a_field_is_indexed_since_it_was_declared_without_interruption,
    }
    store_migration {
        what_was_copied_looks_the_same,
        a_copy_by_way_of_another_kind_of_store_looks_the_same,
        pages_of_any_size_export_the_same,
        a_page_of_large_payloads_ends_early,
        taking_in_twice_changes_nothing,
        a_copied_identity_is_a_duplicate,
        copied_work_is_leased_and_finished,
        what_ran_waits_in_the_copy,
        tokens_of_a_copy_are_greater_than_all_before,
        lanes_keep_their_order_in_a_copy,
        a_dead_head_holds_its_lane_in_a_copy,
        a_suspect_stays_a_suspect_in_a_copy,
        a_forgotten_identity_stays_forgotten,
        a_copy_is_purged_like_the_original,
        a_stopped_copy_goes_on_where_it_stopped,
        only_an_empty_store_takes_a_copy,
        a_store_knows_itself,
    }
    durability {
        what_was_answered_is_there_after_a_crash,
        the_ledger_dedupes_after_a_crash,
        work_that_ran_at_a_crash_runs_again,
        a_payload_that_kills_the_process_is_given_up,
        a_lane_goes_on_after_a_crash,
        attempts_stay_counted_over_a_crash,
        restarts_of_an_idle_store_change_nothing,
    }
}
