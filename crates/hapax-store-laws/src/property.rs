//! The model-based property test: a store and the model take the same random steps and must show
//! the same at every turn.

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
use crate::subject::runtime;
use driver::Driver;

/// How many sequences of steps are tried unless the environment says otherwise.
pub const CASES_DEFAULT: u32 = 48;
/// The variable that says otherwise.
pub const CASES_VARIABLE: &str = "HAPAX_LAWS_CASES";
/// Steps in one sequence, at most.
const STEPS_MAX: usize = 60;
/// A failing sequence is made shorter at most this often.
const SHRINKS_MAX: u32 = 400;

/// Drives fresh stores of `subject` and the model with the same steps.
///
/// Tokens and times are compared by their order and presence, since a store may count and keep
/// them otherwise. `HAPAX_LAWS_CASES` sets how many sequences are tried.
pub fn behaves_like_the_model(subject: &Arc<dyn Subject>) {
    let cases = match std::env::var(CASES_VARIABLE) {
        Ok(text) => text.parse().must(),
        Err(_) => CASES_DEFAULT,
    };
    behaves_like_the_model_over(subject, cases);
}

/// The same, over as many sequences as the caller says.
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
