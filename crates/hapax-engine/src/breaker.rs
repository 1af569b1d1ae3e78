//! The circuit breaker: a destination that keeps failing is left alone for a while.
//!
//! After [`FAILURES_MAX`] consecutive failures it opens. After a pause that doubles each time, one attempt is let
//! through, and its result decides.

use std::time::Duration;

/// Consecutive failures that open it.
pub(crate) const FAILURES_MAX: u32 = 10;
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// One destination's breaker. Times are on the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    until: Duration,
    pause: Duration,
    probing: bool,
}

/// What a breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Anything.
    Closed,
    /// One attempt, as a probe.
    Probe,
    /// Nothing, for this long.
    Open(Duration),
}

/// How a result changed a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    /// It opened, for this long.
    Opened(Duration),
    Closed,
}

impl Breaker {
    /// What may pass now. Does not reserve the probe; see [`Breaker::probe`].
    pub(crate) fn gate(&self, now: Duration) -> Gate {
        match &self.open {
            None => Gate::Closed,
            Some(open) if now >= open.until && !open.probing => Gate::Probe,
            // While a probe runs, everything waits for its result.
            Some(open) => Gate::Open(open.until.saturating_sub(now).max(Duration::from_millis(50))),
        }
    }

    /// Marks the probe as started.
    pub(crate) fn probe(&mut self) {
        if let Some(open) = &mut self.open {
            open.probing = true;
        }
    }

    /// The probe did not run.
    pub(crate) fn probe_released(&mut self) {
        if let Some(open) = &mut self.open {
            open.probing = false;
        }
    }

    pub(crate) fn succeeded(&mut self) -> Change {
        self.failures = 0;
        match self.open.take() {
            Some(_) => Change::Closed,
            None => Change::None,
        }
    }

    pub(crate) fn failed(&mut self, now: Duration) -> Change {
        self.failures = self.failures.saturating_add(1);
        match &mut self.open {
            Some(open) if open.probing => {
                open.pause = (open.pause * 2).min(PAUSE_MAX);
                open.until = now + open.pause;
                open.probing = false;
                Change::Opened(open.pause)
            }
            None if self.failures >= FAILURES_MAX => {
                self.open = Some(Open {
                    until: now + PAUSE_FIRST,
                    pause: PAUSE_FIRST,
                    probing: false,
                });
                Change::Opened(PAUSE_FIRST)
            }
            // A straggler that began before it opened changes nothing either.
            Some(_) | None => Change::None,
        }
    }

    /// How long it stays open.
    pub(crate) fn open_for(&self, now: Duration) -> Option<Duration> {
        self.open.as_ref().map(|open| open.until.saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn opened_at_zero() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            breaker.failed(Duration::ZERO);
        }
        breaker
    }

    #[test]
    fn it_opens_after_failures_in_a_row_only() {
        let mut breaker = Breaker::default();
        for _ in 0..100 {
            for _ in 0..FAILURES_MAX - 1 {
                assert_eq!(breaker.failed(Duration::ZERO), Change::None);
            }
            breaker.succeeded();
        }
        assert_eq!(breaker.gate(Duration::ZERO), Gate::Closed);
        assert_eq!(opened_at_zero().gate(Duration::ZERO), Gate::Open(SECOND));
    }

    #[test]
    fn one_probe_decides_and_each_failure_doubles_the_pause() {
        let mut breaker = opened_at_zero();
        assert_eq!(breaker.gate(SECOND), Gate::Probe);
        breaker.probe();
        assert!(
            matches!(breaker.gate(SECOND), Gate::Open(_)),
            "a second probe must wait"
        );
        assert_eq!(breaker.failed(SECOND), Change::Opened(2 * SECOND));
        assert_eq!(breaker.gate(3 * SECOND), Gate::Probe);
        breaker.probe();
        assert_eq!(breaker.succeeded(), Change::Closed);
        assert_eq!(breaker.gate(3 * SECOND), Gate::Closed);
    }

    #[test]
    fn the_pause_is_capped() {
        let mut breaker = opened_at_zero();
        for _ in 0..20 {
            breaker.probe();
            breaker.failed(Duration::ZERO);
        }
        assert_eq!(breaker.open_for(Duration::ZERO), Some(PAUSE_MAX));
    }
}
