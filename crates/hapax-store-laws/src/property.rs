//! The model-based property test: a store and the model take the same random steps and must show the same results at
//! every turn.

mod driver;
mod operate;
mod picture;
mod search;
mod step;
mod turn;

use std::sync::Arc;

use proptest::test_runner::{Config, TestRunner};

use crate::Subject;
use crate::bench::Must;
use crate::check::runtime;
use driver::Driver;

/// How many sequences of steps are tried by default.
pub const CASES_DEFAULT: u32 = 48;
/// The environment variable that overrides the default.
pub const CASES_VARIABLE: &str = "HAPAX_LAWS_CASES";
/// The maximum number of steps in a sequence.
const STEPS_MAX: usize = 60;
/// The maximum number of times a failing sequence is shortened.
const SHRINKS_MAX: u32 = 400;

/// Drives fresh stores of `subject` and the model with the same steps.
///
/// Tokens and times are compared by order and presence only, since a store may count and store them differently.
/// `HAPAX_LAWS_CASES` sets how many sequences are tried.
#[expect(clippy::disallowed_methods, reason = "tests have variables of their own")]
pub fn behaves_like_the_model(subject: &Arc<dyn Subject>) {
    let cases = match std::env::var(CASES_VARIABLE) {
        Ok(text) => text.parse().must(),
        Err(_) => CASES_DEFAULT,
    };
    behaves_like_the_model_over(subject, cases);
}

/// The same, over `cases` sequences.
pub fn behaves_like_the_model_over(subject: &Arc<dyn Subject>, cases: u32) {
    let config = Config {
        cases,
        max_shrink_iters: SHRINKS_MAX,
        failure_persistence: None,
        ..Config::default()
    };
    let runtime = runtime();
    let outcome = TestRunner::new(config).run(&step::steps(STEPS_MAX), |steps| {
        runtime.block_on(async {
            let mut driver = Driver::open(Arc::clone(subject)).await;
            for step in &steps {
                driver.take(step).await;
            }
            driver.compare().await;
        });
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("the store and the model differ: {failure}");
    }
}
