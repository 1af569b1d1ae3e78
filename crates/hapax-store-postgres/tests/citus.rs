//! Every law, the guide's way to distribute the tables, and purging, on a real Citus cluster named by
//! `HAPAX_TEST_CITUS_URL`. Without one there are no tests here, rather than tests that pass without checking anything.
//!
//! `tests/citus/cluster run COMMAND` starts a cluster for a command, given a PostgreSQL that has Citus.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

#[path = "it/bench.rs"]
#[expect(dead_code, reason = "some of it is for the other tests")]
mod bench;
#[path = "citus/direct.rs"]
mod direct;
#[path = "citus/purging.rs"]
mod purging;
#[path = "citus/spread.rs"]
mod spread;
#[path = "laws/subject.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::Arc;

use hapax_store_laws::CHECKS;
use hapax_test_postgres::Cluster;
use subject::{Layout, PostgresSubject};

struct Test {
    name: &'static str,
    run: Box<dyn Fn()>,
}

fn tests() -> Vec<Test> {
    let laws = CHECKS.iter().map(|(name, check)| Test {
        name,
        run: Box::new(|| check(Arc::new(PostgresSubject::new(Layout::Distributed)))),
    });
    let others = purging::TESTS
        .iter()
        .chain(spread::TESTS)
        .chain(direct::TESTS)
        .map(|(name, run)| Test {
            name,
            run: Box::new(run),
        });
    laws.chain(others).collect()
}

fn run(test: impl AsyncFnOnce()) {
    tokio::runtime::Runtime::new().unwrap().block_on(test());
}

/// The parts of the usual harness that cargo and nextest need; here the list of tests depends on the environment.
fn main() -> ExitCode {
    let (mut is_list, mut is_exact, mut is_ignored, mut names) = (false, false, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => is_list = true,
            "--exact" => is_exact = true,
            "--ignored" => is_ignored = true,
            "--format" | "--test-threads" | "--color" => drop(arguments.next()),
            flag if flag.starts_with('-') => {}
            _ => names.push(argument),
        }
    }
    if !Cluster::is_named() {
        eprintln!("HAPAX_TEST_CITUS_URL does not name a cluster: nothing is tested on Citus");
        return ExitCode::SUCCESS;
    }
    let is_wanted = |test: &Test| {
        let fits = |name: &String| test.name == name || !is_exact && test.name.contains(name.as_str());
        !is_ignored && (names.is_empty() || names.iter().any(fits))
    };
    for test in tests().into_iter().filter(is_wanted) {
        if is_list {
            println!("{}: test", test.name);
        } else {
            // A failing test panics.
            println!("test {} …", test.name);
            (test.run)();
        }
    }
    ExitCode::SUCCESS
}
