//! Limits refusals. Beyond a rate, responses to the peer are delayed, and its large bodies have to wait.
//!
//! A flood of requests without a valid signature then costs the attacker a connection per request for seconds, and
//! costs us almost nothing. No request is refused because of it: a correctly signed one from the same address, which
//! may be a proxy's, is verified and answered as usual.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Limits;
use hapax_listen::Peer;
use hapax_listen::debt::Debt;

/// How much a peer may owe before it has to wait: a source with a wrong secret is not a flood.
const CREDIT: Duration = Duration::from_secs(2);
/// The most that a peer can owe. This long after a flood has ended, its peer is treated like any other.
const OWED_MAX: Duration = Duration::from_secs(60);
/// The longest delay of a response. Few providers wait longer.
const HELD_BACK_MAX: Duration = Duration::from_secs(2);
/// Bytes per second of one peer's bodies that may be read in vain: each is copied and hashed.
const BYTES_PER_SECOND: u32 = 4 << 20;
/// The most peers that are tracked individually. Beyond that, the others share one debt.
const PEERS_MAX: usize = 10_000;
/// The entry of that debt. No connection comes from this address.
const OTHERS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The debts of all peers.
#[derive(Debug)]
pub(super) struct RefusalRate {
    per_second: f64,
    debts: Mutex<HashMap<IpAddr, Debts>>,
}

/// The debts of one peer. Refusals alone do not delay large bodies, because another client's may come from the same
/// address.
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

    /// Charges a peer for a refusal and for the bytes read of its body. Returns how long to delay the response.
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
        let owed = debts.get(&peer.network()).or_else(|| debts.get(&OTHERS));
        owed.map_or(Duration::ZERO, |owed| owed.bytes.owed(now))
            .saturating_sub(CREDIT)
    }
}

/// The peer itself, or if there are too many, the entry that stands for the rest.
fn remembered(debts: &mut HashMap<IpAddr, Debts>, peer: IpAddr, now: Instant) -> IpAddr {
    if debts.len() >= PEERS_MAX && !debts.contains_key(&peer) {
        debts.retain(|_, owed| !(owed.refusals.owed(now) + owed.bytes.owed(now)).is_zero());
        if debts.len() >= PEERS_MAX {
            return OTHERS;
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
        // Other peers are not affected.
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

    #[test]
    fn peers_that_share_a_debt_wait_for_it_too() {
        let (rate, now) = (rate(), Instant::now());
        for number in 1..=10_000 {
            rate.charge(peer(number), 0, now);
        }
        rate.charge(peer(20_000), 16 << 20, now);
        assert_eq!(rate.wait(peer(20_000), now), Duration::from_secs(2));
        assert_eq!(rate.wait(peer(1), now), Duration::ZERO);
        assert_eq!(rate.wait(peer(20_000), now + OWED_MAX), Duration::ZERO);
    }
}
