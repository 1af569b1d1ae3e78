//! How often strangers are refused: beyond a rate, the answers to one peer are held back, and its large bodies wait.
//!
//! A flood of requests without a right signature then costs the attacker a connection for each of them for seconds, and
//! us next to nothing. No one is refused for it: a well-signed delivery from the same address, perhaps that of a proxy, is
//! verified and answered as ever.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Limits;
use hapax_listen::Peer;
use hapax_listen::debt::Debt;

/// What may be owed before anyone waits: a sender with a wrong secret is no flood.
const CREDIT: Duration = Duration::from_secs(2);
/// The most that is owed: this long after a flood has ended, its peer is as good as any.
const OWED_MAX: Duration = Duration::from_secs(60);
/// How long an answer is held back at most. Few senders wait longer.
const HELD_BACK_MAX: Duration = Duration::from_secs(2);
/// Bytes a second of one peer's bodies that may be read in vain: each is copied and hashed.
const BYTES_PER_SECOND: u32 = 4 << 20;
/// Peers that are remembered one by one; beyond that, the others share one debt.
const PEERS_MAX: usize = 10_000;

/// What each peer owes.
#[derive(Debug)]
pub(super) struct RefusalRate {
    per_second: f64,
    debts: Mutex<HashMap<IpAddr, Debts>>,
}

/// What one peer owes. Refusals alone make no large body wait, since someone else's may come from the same address.
#[derive(Clone, Copy, Debug, Default)]
struct Debts {
    refusals: Debt,
    bytes: Debt,
}

impl RefusalRate {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            per_second: limits.peer_refusals.per_second(),
            debts: Mutex::default(),
        }
    }

    /// Charges a peer for a refusal, and for what was read of its body. Says how long to hold the answer back.
    pub(super) fn charge(&self, peer: Peer, body_bytes: usize, now: Instant) -> Duration {
        let refusal = Duration::from_secs_f64(1.0 / self.per_second);
        let bytes = Duration::from_secs(body_bytes as u64) / BYTES_PER_SECOND;
        let mut debts = self.debts.lock();
        let peer = remembered(&mut debts, peer.network(), now);
        let owed = debts.entry(peer).or_default();
        owed.bytes.charge(bytes, OWED_MAX, now);
        owed.refusals.charge(refusal, OWED_MAX, now);
        owed.refusals.owed(now).saturating_sub(CREDIT).min(HELD_BACK_MAX)
    }

    /// How long a peer has to wait before more of a large body is read.
    pub(super) fn wait(&self, peer: Peer, now: Instant) -> Duration {
        let debts = self.debts.lock();
        let owed = debts.get(&peer.network()).map(|owed| owed.bytes.owed(now));
        owed.unwrap_or_default().saturating_sub(CREDIT)
    }
}

/// The peer itself, or where there are too many the one that stands for the rest.
fn remembered(debts: &mut HashMap<IpAddr, Debts>, peer: IpAddr, now: Instant) -> IpAddr {
    if debts.len() >= PEERS_MAX && !debts.contains_key(&peer) {
        debts.retain(|_, owed| !(owed.refusals.owed(now) + owed.bytes.owed(now)).is_zero());
        if debts.len() >= PEERS_MAX {
            return IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        }
    }
    peer
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_config::Rate;

    fn rate() -> RefusalRate {
        RefusalRate::new(&Limits {
            peer_refusals: Rate {
                count: 10,
                per: Duration::from_secs(1),
            },
            ..Limits::default()
        })
    }

    fn peer(number: u32) -> Peer {
        Peer(IpAddr::V4(number.into()))
    }

    #[test]
    fn a_few_refusals_are_answered_at_once_and_a_flood_is_held_back() {
        let (rate, now) = (rate(), Instant::now());
        for _ in 0..20 {
            assert_eq!(rate.charge(peer(1), 0, now), Duration::ZERO);
        }
        assert_eq!(rate.charge(peer(1), 0, now), Duration::from_millis(100));
        for _ in 0..1000 {
            rate.charge(peer(1), 0, now);
        }
        assert_eq!(rate.charge(peer(1), 0, now), HELD_BACK_MAX);
        assert_eq!(rate.wait(peer(1), now), Duration::ZERO);
        // No one else notices.
        assert_eq!(rate.charge(peer(2), 0, now), Duration::ZERO);
        let later = now + OWED_MAX;
        assert_eq!(rate.charge(peer(1), 0, later), Duration::ZERO);
    }

    #[test]
    fn large_bodies_wait_for_those_that_were_read_in_vain() {
        let (rate, now) = (rate(), Instant::now());
        rate.charge(peer(1), 8 << 20, now);
        assert_eq!(rate.wait(peer(1), now), Duration::ZERO);
        rate.charge(peer(1), 8 << 20, now);
        assert_eq!(rate.wait(peer(1), now), Duration::from_secs(2));
        assert_eq!(rate.wait(peer(2), now), Duration::ZERO);
    }

    #[test]
    fn no_number_of_peers_takes_all_the_memory() {
        let (rate, now) = (rate(), Instant::now());
        for number in 1..30_000 {
            rate.charge(peer(number), 0, now);
        }
        assert!(rate.debts.lock().len() <= PEERS_MAX + 1);
    }
}
