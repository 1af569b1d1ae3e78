//! The traffic book, with a clock that tests control.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::*;

#[derive(Default)]
struct Moved(AtomicI64);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(1_767_225_600 + self.0.load(Ordering::Relaxed))
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

fn book() -> (Arc<Moved>, TrafficBook) {
    let clock = Arc::new(Moved::default());
    (clock.clone(), TrafficBook::new(clock, Owner(7)))
}

fn accepted(rows: &[TrafficRow], span: TimeRange) -> Vec<u64> {
    let of = rows.iter().filter(|row| row.range == span);
    of.map(|row| row.traffic.accepted).collect()
}

#[test]
fn what_is_counted_is_in_the_slots_of_each_span() {
    let (clock, book) = book();
    let tally = book.tally(Subject::Source("stripe".into()));
    tally.count(|traffic| traffic.accepted += 2);
    clock.0.store(61, Ordering::Relaxed);
    tally.count(|traffic| traffic.accepted += 1);
    let rows = book.take_changed();
    assert_eq!(accepted(&rows, TimeRange::Hour), [2, 1]);
    assert_eq!(accepted(&rows, TimeRange::Day), [3]);
    assert_eq!(accepted(&rows, TimeRange::Week), [3]);
    assert_eq!(book.take_changed(), [], "nothing changed since");
}

#[test]
fn a_row_is_written_whole_again_when_its_slot_goes_on() {
    let (_, book) = book();
    let tally = book.tally(Subject::Source("stripe".into()));
    tally.count(|traffic| traffic.accepted += 1);
    book.take_changed();
    tally.count(|traffic| traffic.accepted += 1);
    assert_eq!(accepted(&book.take_changed(), TimeRange::Hour), [2]);
}

#[test]
fn what_could_not_be_written_is_written_later() {
    let (clock, book) = book();
    let tally = book.tally(Subject::Source("stripe".into()));
    tally.count(|traffic| traffic.accepted += 1);
    let rows = book.take_changed();
    clock.0.store(120, Ordering::Relaxed);
    assert_eq!(book.take_changed(), []);
    book.was_not_written(&rows);
    tally.count(|traffic| traffic.accepted += 5);
    let again = book.take_changed();
    assert_eq!(accepted(&again, TimeRange::Hour), [1, 5]);
    assert_eq!(accepted(&again, TimeRange::Week), [6]);
}

#[test]
fn slots_that_are_over_and_written_or_too_old_are_forgotten() {
    let (clock, book) = book();
    book.tally(Subject::Source("stripe".into()))
        .count(|traffic| traffic.accepted += 1);
    book.take_changed();
    clock.0.store(8 * 24 * 3600, Ordering::Relaxed);
    assert!(book.gathered().by_key.is_empty());
}

#[test]
fn own_rows_in_the_store_are_replaced_and_those_of_others_stay() {
    let (_, book) = book();
    let tally = book.tally(Subject::Source("stripe".into()));
    tally.count(|traffic| traffic.accepted += 1);
    let mut stored = book.take_changed();
    stored.retain(|row| row.range == TimeRange::Hour);
    let mut foreign = stored.clone();
    foreign[0].owner = Owner(8);
    stored.extend(foreign);
    tally.count(|traffic| traffic.accepted += 1);
    let mut found = accepted(&book.on_top_of(stored, TimeRange::Hour), TimeRange::Hour);
    found.sort_unstable();
    assert_eq!(found, [1, 2]);
}

#[test]
fn a_clock_that_is_set_back_does_not_begin_a_written_slot_anew() {
    let (clock, book) = book();
    let tally = book.tally(Subject::Source("stripe".into()));
    tally.count(|traffic| traffic.accepted += 9);
    book.take_changed();
    clock.0.store(3_700, Ordering::Relaxed);
    book.take_changed();
    clock.0.store(0, Ordering::Relaxed);
    tally.count(|traffic| traffic.accepted += 1);
    let first = TimeRange::Hour.slot_of(clock.now());
    let rows = book.take_changed();
    assert_eq!(accepted(&rows, TimeRange::Hour), [1]);
    assert!(rows.iter().all(|row| row.slot > first), "{rows:?}");
}
