//! Checks the plan of every statement that ran: it touches the tables of one bucket, or it only reads and is marked as
//! reading them all. A marked statement is written so that Citus can pass it on to every shard.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hapax_store_laws::{check, laws};
use hapax_test_postgres::Server;

use crate::subject::{Layout, PostgresSubject};

/// The server logs every statement with its plan. A plan made for the parameters shows the partitions that it touches.
const SETTINGS: [&str; 7] = [
    "session_preload_libraries = 'auto_explain'",
    "auto_explain.log_min_duration = 0",
    "auto_explain.log_parameter_max_length = 0",
    "log_line_prefix = '@@ '",
    "logging_collector = off",
    "plan_cache_mode = force_custom_plan",
    "lc_messages = 'C'",
];

/// The mark of a statement that reads all buckets.
const EVERY_BUCKET: &str = "/* every bucket */";

/// The mark of a statement that is not the store's.
const BETWEEN_TESTS: &str = "/* between two tests */";

/// What Citus refuses to pass on to every shard, or for which it first collects all rows on the coordinator: rows that
/// are limited per row of another table, and subqueries that the planner must not flatten.
const NOT_FOR_EVERY_SHARD: [&str; 2] = [" LATERAL ", " OFFSET "];

/// Beginnings of statements, each of which must have been seen: those on an event's path, those that lock or delete,
/// and those of a store migration.
const HOT: [&str; 46] = [
    "INSERT INTO hapax.ledger",
    "INSERT INTO hapax.events",
    "INSERT INTO hapax.work",
    "INSERT INTO hapax.lanes",
    "INSERT INTO hapax.places",
    "INSERT INTO hapax.outcomes",
    "INSERT INTO hapax.attempts",
    "INSERT INTO hapax.tallies",
    "INSERT INTO hapax.duplicates",
    "INSERT INTO hapax.conflicts",
    "INSERT INTO hapax.bodies",
    "INSERT INTO hapax.same_body",
    "INSERT INTO hapax.earlier",
    "INSERT INTO hapax.noted",
    "INSERT INTO hapax.indexed",
    "UPDATE hapax.ledger AS l SET id",
    "UPDATE hapax.ledger AS l SET stored",
    "UPDATE hapax.ledger SET forgotten",
    "UPDATE hapax.ledger AS l SET generation",
    "UPDATE hapax.work AS w SET state = $5",
    "UPDATE hapax.work AS w SET state = n.state, class = n.class",
    "UPDATE hapax.work AS w SET state = n.state, class = $7",
    "UPDATE hapax.work AS w SET wake_at",
    "UPDATE hapax.work AS w SET class = CASE",
    "UPDATE hapax.work AS w SET class = 3",
    "UPDATE hapax.places AS p",
    "UPDATE hapax.outcomes AS o SET state",
    "UPDATE hapax.outcomes AS o SET is_current",
    "DELETE FROM hapax.work AS w",
    "DELETE FROM hapax.places AS p",
    "DELETE FROM hapax.events AS t",
    "DELETE FROM hapax.outcomes AS t",
    "DELETE FROM hapax.ledger AS t",
    "DELETE FROM hapax.earlier AS t",
    "DELETE FROM hapax.noted AS t",
    "DELETE FROM hapax.indexed AS t",
    "SELECT e.bucket, e.id, e.key FROM unnest",
    "SELECT l.key, l.id, l.generation",
    "SELECT l.bucket, l.key, l.scope, l.expires_at FROM hapax.ledger l",
    "SELECT p.destination, p.lane, p.lane_order",
    "SELECT DISTINCT p.destination",
    "SELECT k.key FROM unnest",
    "SELECT n.key, e.id, coalesce",
    "SELECT k.scope, k.raw_hash",
    "SELECT to_jsonb(t)::text FROM unnest",
    "SELECT /* every bucket */ (SELECT count(*)",
];

#[test]
fn every_statement_names_one_bucket_or_reads_all_on_purpose() {
    let server = Arc::new(Server::private(&SETTINGS).unwrap());
    go_through(&server);
    let log = server.log().unwrap();
    let plans = plans(&log);
    let mut wrong = Vec::new();
    let of_the_store = plans
        .iter()
        .filter(|(statement, _)| !statement.contains(BETWEEN_TESTS));
    for (statement, partitions) in of_the_store {
        let one = partitions.len() <= 1 && !statement.contains(EVERY_BUCKET);
        let reads_all = statement.contains(EVERY_BUCKET)
            && statement.starts_with("SELECT")
            && !statement.contains(" FOR UPDATE")
            && !statement.contains(" FOR KEY SHARE")
            && NOT_FOR_EVERY_SHARD
                .iter()
                .all(|refused| !statement.contains(refused));
        if !one && !reads_all {
            wrong.push(format!("{partitions:?}: {statement}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unseen: Vec<&str> = HOT
        .into_iter()
        .filter(|hot| !plans.keys().any(|statement| statement.starts_with(hot)))
        .collect();
    assert!(unseen.is_empty(), "never ran: {unseen:?}");
}

/// Laws that run every statement.
fn go_through(server: &Arc<Server>) {
    macro_rules! go {
        ($($law:path,)+) => {
            $(check(Arc::new(PostgresSubject::new(Layout::Partitioned(Arc::clone(server)))), $law);)+
        };
    }
    go![
        laws::requests::a_redelivered_request_adds_only_what_is_missing,
        laws::finishing::a_retry_waits_and_counts_on,
        laws::finishing::attempts_are_kept_oldest_first,
        laws::rescue::an_extended_lease_ends_when_it_was_extended_to,
        laws::rescue::a_delivery_lost_three_times_is_dead,
        laws::lanes::completion_promotes_the_next_in_order_of_acceptance,
        laws::lane_ends::a_dead_head_holds_its_lane_until_it_is_discarded,
        laws::lane_ends::a_dead_head_that_holds_its_lane_is_replayed_in_place,
        laws::lane_replays::a_replay_takes_the_place_of_its_acceptance,
        laws::lane_replays::a_replay_to_another_lane_takes_the_place_of_its_acceptance,
        laws::replay::force_mode_replays_everything_under_new_keys,
        laws::forgetting::a_forgotten_identity_is_new_again_as_its_next_generation,
        laws::record_conflicts::a_released_conflicting_body_is_marked,
        laws::looking::a_list_can_be_oldest_first,
        laws::looking::filters_match_what_they_say,
        laws::searching::events_are_found_by_where_they_went,
        laws::searching::events_are_found_by_why_they_were_given_up,
        laws::searching::events_are_found_by_their_duplicates,
        laws::searching::events_are_found_by_their_conflicts,
        laws::searching::events_are_found_by_either_id,
        laws::searching::events_are_found_by_values_in_their_bodies,
        laws::searching::indexed_values_are_found_without_reading_other_bodies,
        laws::searching::sources_and_types_are_found_alone_and_together,
        laws::dead_groups::dead_letters_are_grouped_by_destination_and_error,
        laws::counting::counts_of_the_ledger_are_by_scope,
        laws::purging::a_purged_dead_head_lets_its_lane_go_on,
        laws::purging_ledger::a_purge_leaves_nothing_behind,
        laws::purging_ledger::a_tombstone_is_purged_like_any_entry,
        laws::operating::dead_letters_can_be_discarded_and_restored,
        laws::tallies::duplicates_add_up,
        laws::tallies::an_event_with_an_earlier_events_body_is_flagged,
        laws::store_migration::what_was_copied_looks_the_same,
    ];
}

/// The partitions that each statement touched at most at once, by its text in one line.
fn plans(log: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut plans: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in log.split("@@ ") {
        let Some((_, plan)) = entry.split_once("Query Text: ") else {
            continue;
        };
        // Continuation lines begin with a tab; the plan begins at the first line that has a cost.
        let lines: Vec<&str> = plan.lines().map(str::trim).collect();
        let end = lines.iter().position(|line| line.contains("(cost=")).unwrap();
        let statement = lines[..end].join(" ");
        let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        let touched: BTreeSet<String> = lines[end..].iter().flat_map(|line| partitions(line)).collect();
        let most = plans.entry(statement).or_default();
        if touched.len() > most.len() {
            *most = touched;
        }
    }
    plans
}

/// The numbers of the partitions that a line of a plan reads or writes.
fn partitions(line: &str) -> Vec<String> {
    let words = line.split(|character: char| !character.is_alphanumeric() && character != '_');
    words
        .filter(|word| !word.ends_with("idx") && !word.ends_with("pkey"))
        .filter_map(|word| Some(word.split_once("_part_")?.1.to_owned()))
        .collect()
}
