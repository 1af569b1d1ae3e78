//! What is tried again after a transaction that events shared has failed: smaller and smaller parts of it, until the one
//! that fails is alone.

/// Events that wait for a transaction, in parts that get one each.
pub(super) struct Parts<T>(Vec<Vec<T>>);

impl<T> Parts<T> {
    pub(super) fn new(jobs: Vec<T>) -> Self {
        Self(vec![jobs])
    }

    /// The largest part. So one that is alone, because it failed the others, comes after all who wait in company.
    pub(super) fn next(&mut self) -> Option<Vec<T>> {
        self.0.sort_by_key(Vec::len);
        self.0.pop()
    }

    /// These again, as they are.
    pub(super) fn put_back(&mut self, jobs: Vec<T>) {
        self.0.push(jobs);
    }

    /// These again, without the one at which they failed, and that one by itself. A COMMIT that fails names nobody: then
    /// it is the one half or the other.
    pub(super) fn split(&mut self, mut jobs: Vec<T>, at: Option<usize>) {
        let behind = at.map(|at| (at, jobs.split_off(at + 1)));
        let Some((at, mut behind)) = behind else {
            let half = jobs.split_off(jobs.len() / 2);
            self.0.extend([half, jobs]);
            return;
        };
        let culprit = jobs.split_off(at);
        // Those before it were well so far; what is behind it has not been tried.
        let half = behind.split_off(behind.len() / 2);
        self.0.extend([culprit, half, behind, jobs]);
        self.0.retain(|part| !part.is_empty());
    }

    /// All that is left.
    pub(super) fn rest(self) -> impl Iterator<Item = T> {
        self.0.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(mut parts: Parts<usize>) -> Vec<Vec<usize>> {
        std::iter::from_fn(|| parts.next()).collect()
    }

    fn split(length: usize, at: Option<usize>) -> Parts<usize> {
        let mut parts = Parts(Vec::new());
        parts.split((0..length).collect(), at);
        parts
    }

    #[test]
    fn the_one_that_is_known_to_fail_comes_last() {
        assert_eq!(
            order(split(6, Some(2))),
            [vec![0, 1], vec![4, 5], vec![3], vec![2]]
        );
        let mut again = split(7, Some(0));
        let part = again.next().unwrap();
        assert_eq!(part, [1, 2, 3]);
        again.split(part, Some(0));
        assert_eq!(order(again), [vec![4, 5, 6], vec![2], vec![3], vec![1], vec![0]]);
    }

    #[test]
    fn every_part_is_smaller_and_nothing_is_lost() {
        for length in 2..10 {
            for at in (0..length).map(Some).chain([None]) {
                let parts = split(length, at);
                assert!(parts.0.iter().all(|part| !part.is_empty() && part.len() < length));
                let mut all: Vec<usize> = parts.rest().collect();
                all.sort_unstable();
                assert_eq!(all, (0..length).collect::<Vec<_>>());
            }
        }
    }
}
