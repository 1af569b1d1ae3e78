//! A budget of bytes that all deliveries share: thousands of large bodies at once become 503, never memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes are left.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    pub(super) const fn new(bytes: usize) -> Self {
        Self {
            left: AtomicUsize::new(bytes),
        }
    }

    fn take(&self, bytes: usize) -> bool {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            })
            .is_ok()
    }
}

/// What one delivery has taken; it is given back when dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    taken: usize,
}

impl Share {
    pub(super) fn of(budget: &Arc<Budget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            taken: 0,
        }
    }

    /// Takes `bytes` more, as they arrive: what a sender only announces costs nothing.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Exhausted> {
        if !self.budget.take(bytes) {
            return Err(Exhausted);
        }
        self.taken += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.taken, Ordering::Relaxed);
    }
}

/// The budget is used up.
#[derive(Debug)]
pub(super) struct Exhausted;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_shared_and_comes_back() {
        let budget = Arc::new(Budget::new(10));
        let mut first = Share::of(&budget);
        let mut second = Share::of(&budget);
        first.grow(4).unwrap();
        first.grow(4).unwrap();
        second.grow(3).unwrap_err();
        second.grow(2).unwrap();
        drop(first);
        second.grow(8).unwrap();
    }
}
