//! What the executor promises the simulation.

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const STEPS: u64 = 10_000;

type Log = Arc<Mutex<Vec<String>>>;

fn ticking(executor: &Executor, process: Process, log: &Log) {
    let (clock, log) = (executor.clone(), Arc::clone(log));
    executor.spawn(process, async move {
        loop {
            log.lock().push(format!("{} at {:?}", process.0, clock.now()));
            clock.sleep(SECOND).await;
        }
    });
}

fn run_for(executor: &Executor, seconds: u32) -> Stop {
    executor.run(executor.sleep(seconds * SECOND), STEPS)
}

fn lines(seed: u64) -> Vec<String> {
    let executor = Executor::new(Dice::new(seed));
    let log = Log::default();
    for process in 1..=4 {
        ticking(&executor, Process(process), &log);
    }
    assert_eq!(run_for(&executor, 5), Stop::Done);
    executor.clear();
    log.lock().clone()
}

#[test]
fn a_seed_decides_who_goes_next_and_another_decides_otherwise() {
    assert_eq!(lines(1), lines(1));
    assert_ne!(lines(1), lines(2));
}

#[test]
fn time_passes_only_when_nobody_can_go_on() {
    let executor = Executor::new(Dice::new(1));
    assert_eq!(run_for(&executor, 3_600), Stop::Done);
    assert_eq!(executor.now(), 3_600 * SECOND);
}

#[test]
fn a_killed_process_stops_at_its_await_and_never_starts_again() {
    let executor = Executor::new(Dice::new(1));
    let log = Log::default();
    ticking(&executor, Process(1), &log);
    run_for(&executor, 2);
    executor.kill(Process(1));
    let before = log.lock().len();
    ticking(&executor, Process(1), &log);
    run_for(&executor, 5);
    assert_eq!(log.lock().len(), before);
}

#[test]
fn a_paused_process_stands_still_while_time_goes_on_and_then_goes_on_too() {
    let executor = Executor::new(Dice::new(1));
    let log = Log::default();
    ticking(&executor, Process(1), &log);
    run_for(&executor, 1);
    executor.pause(Process(1));
    let before = log.lock().len();
    run_for(&executor, 60);
    assert_eq!(log.lock().len(), before);
    executor.resume(Process(1));
    run_for(&executor, 1);
    assert!(log.lock().len() > before);
    executor.clear();
}

#[test]
fn a_wait_that_was_given_up_holds_no_timer() {
    let executor = Executor::new(Dice::new(1));
    let mut sleep = Box::pin(executor.sleep(100 * SECOND));
    let polled = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    drop(sleep);
    let nobody = executor.run(std::future::pending(), STEPS);
    assert_eq!((nobody, executor.now()), (Stop::Stuck, Duration::ZERO));
}
