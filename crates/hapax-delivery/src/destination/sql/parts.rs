//! Retries after a shared transaction has failed: smaller and smaller parts of it, until the event that fails is alone.

use super::failure::{Broken, Kind};

/// Events that wait for a transaction, in parts that get one each.
pub(super) struct Parts<T>(Vec<Part<T>>);

/// Events that share a transaction.
pub(super) struct Part<T> {
    pub(super) jobs: Vec<T>,
    pub(super) patience: Patience,
}

/// How much of the destination's timeout a statement gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Patience {
    /// All of it: the event is alone, and no other waits behind it.
    Full,
    /// A part of it: a slow event must not hold up the others.
    Short,
}

impl<T> Parts<T> {
    pub(super) fn new(jobs: Vec<T>) -> Self {
        let patience = if jobs.len() > 1 {
            Patience::Short
        } else {
            Patience::Full
        };
        Self(vec![Part { jobs, patience }])
    }

    /// The largest part, without events that timed out. An event that is known to fail or to be slow is alone and comes
    /// last.
    pub(super) fn next(&mut self, is_waited_for: impl Fn(&T) -> bool) -> Option<Part<T>> {
        loop {
            self.0.sort_by_key(|part| (part.patience, part.jobs.len()));
            let mut part = self.0.pop()?;
            part.jobs.retain(&is_waited_for);
            if !part.jobs.is_empty() {
                return Some(part);
            }
        }
    }

    /// Queues this part again, unchanged.
    pub(super) fn put_back(&mut self, part: Part<T>) {
        self.0.push(part);
    }

    /// Queues other events before one that is known to be slow.
    pub(super) fn put_before(&mut self, slow: Part<T>, others: Vec<T>) {
        self.put_back(slow);
        self.add(others, Patience::Short);
    }

    /// Splits a failed part, or gives it more time. An event that had a transaction and the full timeout to itself is
    /// returned: the failure is its own.
    pub(super) fn failed(&mut self, part: Part<T>, broken: &Broken) -> Option<Vec<T>> {
        let Part { jobs, patience } = part;
        let is_slow = matches!(broken.failure.kind, Kind::Timeout | Kind::Contention);
        if jobs.len() > 1 {
            self.split(jobs, broken);
        } else if is_slow && patience == Patience::Short {
            self.add(jobs, Patience::Full);
        } else {
            return Some(jobs);
        }
        None
    }

    pub(super) fn rest(self) -> impl Iterator<Item = T> {
        self.0.into_iter().flat_map(|part| part.jobs)
    }

    fn split(&mut self, mut jobs: Vec<T>, broken: &Broken) {
        match broken.at {
            Some(at) => {
                let mut behind = jobs.split_off(at + 1);
                let culprit = jobs.split_off(at);
                self.add(culprit, Patience::Full);
                // Those before it succeeded so far; those behind it have not been tried.
                let half = behind.split_off(behind.len() / 2);
                for part in [half, behind, jobs] {
                    self.add(part, Patience::Short);
                }
            }
            // A slow COMMIT does not show which event is slow, and splitting in halves would use up everyone's time.
            None if broken.failure.kind == Kind::Timeout => {
                for job in jobs.into_iter().rev() {
                    self.add(vec![job], Patience::Short);
                }
            }
            // A failed COMMIT does not show which event failed: it is in one half or the other.
            None => {
                let half = jobs.split_off(jobs.len() / 2);
                for part in [half, jobs] {
                    self.add(part, Patience::Short);
                }
            }
        }
    }

    fn add(&mut self, jobs: Vec<T>, patience: Patience) {
        if !jobs.is_empty() {
            self.0.push(Part { jobs, patience });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::Failure;
    use super::*;

    fn next(parts: &mut Parts<usize>) -> Option<Part<usize>> {
        parts.next(|_| true)
    }

    fn order(mut parts: Parts<usize>) -> Vec<Vec<usize>> {
        std::iter::from_fn(|| next(&mut parts).map(|part| part.jobs)).collect()
    }

    fn broken(kind: Kind, at: Option<usize>) -> Broken {
        let message = String::new();
        Broken {
            failure: Failure { kind, message },
            at,
        }
    }

    fn split(length: usize, broken: &Broken) -> Parts<usize> {
        let mut parts = Parts::new((0..length).collect());
        let whole = next(&mut parts).unwrap();
        assert!(parts.failed(whole, broken).is_none());
        parts
    }

    #[test]
    fn the_one_that_is_known_to_fail_comes_last() {
        let third = broken(Kind::Statement, Some(2));
        assert_eq!(
            order(split(6, &third)),
            [vec![0, 1], vec![4, 5], vec![3], vec![2]]
        );
        let first = broken(Kind::Statement, Some(0));
        let mut again = split(7, &first);
        let part = next(&mut again).unwrap();
        assert_eq!(part.jobs, [1, 2, 3]);
        assert!(again.failed(part, &first).is_none());
        assert_eq!(order(again), [vec![4, 5, 6], vec![2], vec![3], vec![1], vec![0]]);
    }

    #[test]
    fn every_part_is_smaller_and_nothing_is_lost() {
        for length in 2..10 {
            for kind in [Kind::Statement, Kind::Timeout] {
                for at in (0..length).map(Some).chain([None]) {
                    let parts = split(length, &broken(kind, at));
                    let is_smaller = |part: &Part<usize>| !part.jobs.is_empty() && part.jobs.len() < length;
                    assert!(parts.0.iter().all(is_smaller));
                    let mut all: Vec<usize> = parts.rest().collect();
                    all.sort_unstable();
                    assert_eq!(all, (0..length).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn after_a_slow_commit_each_is_tried_alone_and_the_slow_one_once_more_at_the_end() {
        let slow = broken(Kind::Timeout, None);
        let mut parts = split(4, &slow);
        let first = next(&mut parts).unwrap();
        assert_eq!(
            (first.jobs.as_slice(), first.patience),
            (&[0][..], Patience::Short)
        );
        assert!(parts.failed(first, &slow).is_none());
        for expected in 1..4 {
            assert_eq!(next(&mut parts).unwrap().jobs, [expected]);
        }
        let last = next(&mut parts).unwrap();
        assert_eq!(last.patience, Patience::Full);
        assert_eq!(parts.failed(last, &slow), Some(vec![0]));
        assert!(next(&mut parts).is_none());
    }
}
