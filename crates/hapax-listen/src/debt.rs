//! Work caused by a client, paid off at a steady rate.
//!
//! Every part of the service that throttles unverified clients keeps one of these. The charge is the time that the work
//! is allowed to take, and a client that arrives before it is paid off waits.

use std::time::Duration;

use tokio::time::Instant;

/// Work that was charged and is not paid off yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Debt {
    paid_off: Option<Instant>,
}

impl Debt {
    /// Charges work that may take `cost`. The total owed never exceeds `most`.
    pub fn charge(&mut self, cost: Duration, most: Duration, now: Instant) {
        let owed = self.owed(now).saturating_add(cost).min(most);
        self.paid_off = now.checked_add(owed);
    }

    /// How long it takes until everything is paid off.
    pub fn owed(&self, now: Instant) -> Duration {
        self.paid_off
            .map_or(Duration::ZERO, |paid_off| paid_off.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_is_paid_off_by_waiting_and_never_more_than_its_most() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut debt = Debt::default();
        assert_eq!(debt.owed(now), Duration::ZERO);
        debt.charge(second, 5 * second, now);
        debt.charge(second, 5 * second, now);
        assert_eq!(debt.owed(now), 2 * second);
        assert_eq!(debt.owed(now + second), second);
        assert_eq!(debt.owed(now + 9 * second), Duration::ZERO);
        debt.charge(60 * second, 5 * second, now + 9 * second);
        assert_eq!(debt.owed(now + 9 * second), 5 * second);
    }
}
