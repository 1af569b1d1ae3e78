//! Backoff: an address that keeps sending wrong tokens waits longer each time.
//!
//! During the wait, the right token is refused, too; otherwise every guess would still be checked. Open sessions
//! continue. A right token does not reset the record, so that a guesser gains nothing from other clients behind the
//! same address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use hapax_listen::Peer;

/// Wrong tokens without a penalty: people mistype.
const FREE_FAILURES: u32 = 5;
/// Maximum wait.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// An address without a wrong token for this long is forgotten.
const REMEMBERED_FOR: Duration = Duration::from_secs(15 * 60);
/// Maximum number of remembered addresses. Beyond it, the one that failed longest ago is dropped.
const ADDRESSES_MAX: usize = 10_000;

/// Failed attempts by address.
#[derive(Debug, Default)]
pub(super) struct Backoff(Mutex<HashMap<IpAddr, Failures>>);

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The token is wrong.
    Wrong,
    /// There were too many; this one was not checked.
    Wait(Duration),
}

impl Backoff {
    /// Runs one attempt from an address under the lock, so that concurrent guesses are counted one by one.
    pub(super) fn attempt<T>(
        &self,
        from: IpAddr,
        now: Instant,
        check: impl FnOnce() -> Option<T>,
    ) -> Result<T, Refused> {
        let from = Peer(from).network();
        let mut known = self.0.lock();
        let before = known.get(&from).copied().filter(|one| !one.is_old(now));
        if let Some(wait) = before.and_then(|failures| failures.wait(now)) {
            return Err(Refused::Wait(wait));
        }
        if let Some(right) = check() {
            return Ok(right);
        }
        make_room(&mut known, now);
        let count = before.map_or(0, |failures| failures.count).saturating_add(1);
        known.insert(from, Failures { count, last: now });
        Err(Refused::Wrong)
    }
}

impl Failures {
    fn is_old(&self, now: Instant) -> bool {
        now.duration_since(self.last) >= REMEMBERED_FOR
    }

    /// The remaining wait.
    fn wait(&self, now: Instant) -> Option<Duration> {
        let doublings = self.count.checked_sub(FREE_FAILURES + 1)?;
        let whole = Duration::from_secs(1)
            .saturating_mul(2_u32.saturating_pow(doublings))
            .min(WAIT_MAX);
        let left = whole.saturating_sub(now.duration_since(self.last));
        (!left.is_zero()).then_some(left)
    }
}

fn make_room(known: &mut HashMap<IpAddr, Failures>, now: Instant) {
    if known.len() < ADDRESSES_MAX {
        return;
    }
    known.retain(|_, failures| !failures.is_old(now));
    if known.len() < ADDRESSES_MAX {
        return;
    }
    let oldest = known
        .iter()
        .min_by_key(|(_, failures)| failures.last)
        .map(|(address, _)| *address);
    if let Some(oldest) = oldest {
        known.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn fail(backoff: &Backoff, from: &str, now: Instant) -> Refused {
        backoff.attempt(address(from), now, || None::<()>).unwrap_err()
    }

    #[test]
    fn after_five_wrong_tokens_each_wait_is_twice_the_last_up_to_a_minute() {
        let backoff = Backoff::default();
        let mut now = Instant::now();
        for _ in 0..=FREE_FAILURES {
            assert_eq!(fail(&backoff, "192.0.2.1", now), Refused::Wrong);
        }
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let wait = Duration::from_secs(seconds);
            assert_eq!(fail(&backoff, "192.0.2.1", now), Refused::Wait(wait));
            now += wait;
            assert_eq!(fail(&backoff, "192.0.2.1", now), Refused::Wrong);
        }
    }

    #[test]
    fn the_right_token_waits_too_and_other_addresses_do_not() {
        let backoff = Backoff::default();
        let now = Instant::now();
        for _ in 0..=FREE_FAILURES {
            fail(&backoff, "192.0.2.1", now);
        }
        let right = |from| backoff.attempt(address(from), now, || Some(()));
        assert!(matches!(right("192.0.2.1"), Err(Refused::Wait(_))));
        assert!(matches!(right("::ffff:192.0.2.1"), Err(Refused::Wait(_))));
        assert_eq!(right("192.0.2.2"), Ok(()));
        let later = now + REMEMBERED_FOR;
        assert_eq!(backoff.attempt(address("192.0.2.1"), later, || Some(())), Ok(()));
        assert_eq!(fail(&backoff, "192.0.2.1", later), Refused::Wrong);
        assert_eq!(backoff.attempt(address("192.0.2.1"), later, || Some(())), Ok(()));
    }

    #[test]
    fn a_whole_ipv6_network_counts_as_one() {
        let backoff = Backoff::default();
        let now = Instant::now();
        for last in 0..=FREE_FAILURES {
            fail(&backoff, &format!("2001:db8::{last}"), now);
        }
        assert!(matches!(fail(&backoff, "2001:db8::ffff", now), Refused::Wait(_)));
        assert_eq!(fail(&backoff, "2001:db8:0:1::1", now), Refused::Wrong);
    }

    #[test]
    fn the_record_has_a_limit() {
        let backoff = Backoff::default();
        let now = Instant::now();
        for number in 0..u32::try_from(ADDRESSES_MAX).unwrap() + 10 {
            let from = IpAddr::V4(number.into());
            let later = now + Duration::from_micros(number.into());
            let _ = backoff.attempt(from, later, || None::<()>);
        }
        assert_eq!(backoff.0.lock().len(), ADDRESSES_MAX);
    }
}
