//! The purpose of the simulator: every seed keeps every promise, and every broken rule is found.

use hapax_sim::{Mutation, Rule, Run, Until, search, simulate};

/// As many as `./test sim` runs; each mutation must be caught within them.
const SEEDS: std::ops::Range<u64> = 0..300;
/// For those who run only the tests.
const SOME_SEEDS: std::ops::Range<u64> = 0..100;

#[test]
fn a_seed_repeats_its_run_to_the_letter() {
    for seed in 0..25 {
        assert_eq!(
            simulate(seed, None).transcript(),
            simulate(seed, None).transcript(),
            "seed {seed}"
        );
    }
}

#[test]
fn a_run_does_not_depend_on_the_thread_it_is_on() {
    let here = simulate(3, None).transcript();
    let there = std::thread::spawn(|| simulate(3, None).transcript())
        .join()
        .unwrap();
    assert_eq!(here, there);
}

#[test]
fn different_seeds_are_different_runs() {
    assert_ne!(simulate(1, None).transcript(), simulate(2, None).transcript());
}

#[test]
fn every_seed_keeps_every_promise_among_every_kind_of_trouble() {
    let found = search(SOME_SEEDS, None, Until::AllRun);
    let broken: Vec<String> = found.failed.iter().flat_map(broken_by).collect();
    assert_eq!((broken, found.panicked), (Vec::new(), Vec::new()));
    // A search in which nothing happens finds nothing.
    let tally = found.tally;
    let trouble = [
        tally.kills,
        tally.pauses,
        tally.messages_lost,
        tally.outages,
        tally.cut_offs,
        tally.clock_steps,
        tally.leases_lost,
        tally.fenced,
        tally.processed,
        tally.asked,
    ];
    assert!(trouble.iter().all(|count| *count >= 10), "{tally}");
    assert!(tally.attempts > tally.effects, "{tally}");
    assert!(tally.answers > tally.events, "{tally}");
}

fn broken_by(run: &Run) -> Vec<String> {
    let violations = run.violations.iter();
    violations
        .map(|violation| format!("seed {}: {violation}", run.seed))
        .collect()
}

fn is_caught(mutation: Mutation) {
    let rule: Rule = mutation.breaks();
    let found = search(SEEDS, Some(mutation), Until::Caught);
    assert!(
        found.failed.iter().any(|run| run.breaks(rule)),
        "{mutation} was not seen to break {rule:?}"
    );
}

macro_rules! caught {
    ($($name:ident: $mutation:ident,)*) => {
        $(
            #[test]
            fn $name() {
                is_caught(Mutation::$mutation);
            }
        )*

        #[test]
        fn every_mutation_has_its_test() {
            assert_eq!([$(Mutation::$mutation),*], Mutation::ALL);
        }
    };
}

caught! {
    a_store_without_fencing_is_caught: NoFencing,
    a_token_that_is_used_again_is_caught: ReusedTokens,
    an_answer_before_the_commit_is_caught: AckBeforeCommit,
    an_answer_before_the_work_is_caught: AckBeforeWork,
    a_guess_after_an_error_is_caught: GuessAfterError,
    looking_before_inserting_is_caught: LookThenInsert,
    a_key_for_each_attempt_is_caught: KeyPerAttempt,
    an_effect_before_its_mark_is_caught: EffectThenMark,
    a_mark_before_its_effect_is_caught: MarkThenEffect,
    a_store_that_takes_nothing_back_is_caught: NoRescue,
    a_lease_that_ends_early_is_caught: EarlyRescue,
    a_death_that_nobody_notices_is_caught: NoTakeOver,
    a_judgement_in_haste_is_caught: HastyJudge,
    a_replay_that_repeats_itself_is_caught: ForgetfulReplay,
    a_lane_without_order_is_caught: NoLanes,
    a_replay_that_walks_backwards_is_caught: BackwardReplay,
    a_backlog_that_stands_is_caught: OneBatchPerLook,
}
