//! Memory for bodies: thousands of large bodies at once are answered 503. They never exhaust memory, and never cause a
//! 503 for anyone else.
//!
//! There are two accounts. Bodies that are not verified yet are on the first, so that they can only get in each other's
//! way. A verified body moves to the second, which unverified clients cannot reach. Half of the first account is
//! reserved for the sources, in equal shares that no other source can use; all sources share the other half. The amount
//! that one peer can hold is limited. The beginning of each body is free: the number of connections bounds it, so an
//! ordinary webhook always fits, whatever other clients do.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hapax_core::SourceName;
use parking_lot::{Mutex, MutexGuard};

use super::Limits;
use hapax_listen::Peer;

/// Bytes of each body that are not charged to any account.
pub(super) const FREE_BYTES: usize = 8 * 1024;

#[derive(Debug)]
pub(super) struct Budget {
    unproven_max: usize,
    peer_unproven_max: usize,
    /// The number of configured sources, which share the reserved half.
    sources: AtomicUsize,
    unproven: Mutex<Unproven>,
    proven_left: AtomicUsize,
}

/// The bytes held by each source and peer; contains only those that hold any.
#[derive(Debug, Default)]
struct Unproven {
    by_source: HashMap<SourceName, usize>,
    by_peer: HashMap<IpAddr, usize>,
}

impl Budget {
    pub(super) fn new(limits: &Limits, sources: usize) -> Self {
        Self {
            unproven_max: limits.unproven_bytes_max,
            peer_unproven_max: limits.peer_unproven_bytes_max,
            sources: AtomicUsize::new(sources),
            unproven: Mutex::default(),
            proven_left: AtomicUsize::new(limits.proven_bytes_max),
        }
    }

    /// Sets the number of sources.
    pub(super) fn divide_among(&self, sources: usize) {
        self.sources.store(sources, Ordering::Relaxed);
    }

    fn unproven(&self) -> MutexGuard<'_, Unproven> {
        self.unproven.lock()
    }

    fn take_unproven(&self, source: &SourceName, peer: IpAddr, bytes: usize) -> Result<(), Exhausted> {
        let shared_max = self.unproven_max / 2;
        let own_max = shared_max / self.sources.load(Ordering::Relaxed).max(1);
        let mut held = self.unproven();
        let of_peer = held.by_peer.get(&peer).copied().unwrap_or(0) + bytes;
        let of_source = held.by_source.get(source).copied().unwrap_or(0) + bytes;
        let others = held.by_source.iter().filter(|(name, _)| *name != source);
        let shared_by_others: usize = others.map(|(_, held)| held.saturating_sub(own_max)).sum();
        let shared = of_source.saturating_sub(own_max);
        let has_room = shared == 0 || shared + shared_by_others <= shared_max;
        if !has_room || of_peer > self.peer_unproven_max {
            return Err(Exhausted);
        }
        held.by_peer.insert(peer, of_peer);
        held.by_source.insert(source.clone(), of_source);
        Ok(())
    }

    fn return_unproven(&self, source: &SourceName, peer: IpAddr, bytes: usize) {
        let mut held = self.unproven();
        give_back(&mut held.by_source, source, bytes);
        give_back(&mut held.by_peer, &peer, bytes);
    }

    fn take_proven(&self, bytes: usize) -> Result<(), Exhausted> {
        let take = |left: usize| left.checked_sub(bytes);
        let taken = self
            .proven_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map(drop).map_err(|_| Exhausted)
    }
}

fn give_back<K: Eq + Hash>(held: &mut HashMap<K, usize>, holder: &K, bytes: usize) {
    if let Some(left) = held.get_mut(holder) {
        *left = left.saturating_sub(bytes);
        if *left == 0 {
            held.remove(holder);
        }
    }
}

/// The memory that one request holds. It is released when dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    source: SourceName,
    peer: IpAddr,
    /// The size of the body so far.
    bytes: usize,
    charged: Charged,
}

/// The account that bytes were charged to, and how many.
#[derive(Clone, Copy, Debug)]
enum Charged {
    Unproven(usize),
    Proven(usize),
}

impl Share {
    pub(super) fn of(budget: &Arc<Budget>, source: &SourceName, peer: Peer) -> Self {
        Self {
            budget: Arc::clone(budget),
            source: source.clone(),
            peer: peer.network(),
            bytes: 0,
            charged: Charged::Unproven(0),
        }
    }

    /// The size of the body so far.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `bytes` more as they arrive. A body that is only announced costs nothing.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.bytes += bytes;
        if let Charged::Unproven(charged) = self.charged {
            let due = self.bytes.saturating_sub(FREE_BYTES);
            if due > charged {
                self.budget
                    .take_unproven(&self.source, self.peer, due - charged)?;
                self.charged = Charged::Unproven(due);
            }
        }
        Ok(())
    }

    /// Moves a complete and verified body to the second account, which unverified clients cannot reach.
    pub(super) fn prove(&mut self) -> Result<(), Exhausted> {
        self.budget.take_proven(self.bytes)?;
        self.give_back();
        self.charged = Charged::Proven(self.bytes);
        Ok(())
    }

    fn give_back(&self) {
        match self.charged {
            Charged::Unproven(0) => {}
            Charged::Unproven(bytes) => self.budget.return_unproven(&self.source, self.peer, bytes),
            Charged::Proven(bytes) => {
                self.budget.proven_left.fetch_add(bytes, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[derive(Debug)]
pub(super) struct Exhausted;

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    fn budget(sources: usize) -> Arc<Budget> {
        let limits = Limits {
            unproven_bytes_max: 800 * KIB,
            peer_unproven_bytes_max: 400 * KIB,
            proven_bytes_max: 500 * KIB,
            ..Limits::default()
        };
        Arc::new(Budget::new(&limits, sources))
    }

    fn share(budget: &Arc<Budget>, source: &str, peer: &str) -> Share {
        let source = SourceName::from(source);
        Share::of(budget, &source, Peer(peer.parse().unwrap()))
    }

    /// Takes 100 KiB bodies until no more fit, each from a different peer.
    fn fill(budget: &Arc<Budget>, source: &str) -> Vec<Share> {
        let body = |number: usize| {
            let mut share = share(budget, source, &format!("192.0.2.{number}"));
            share.grow(100 * KIB + FREE_BYTES).is_ok().then_some(share)
        };
        (1..100).map_while(body).collect()
    }

    #[test]
    fn one_source_never_takes_the_share_of_another() {
        let budget = budget(4);
        // The whole shared half, and the source's own share.
        assert_eq!(fill(&budget, "github").len(), 5);
        let all_but_the_others = fill(&budget, "github");
        for source in ["stripe", "slack", "adyen"] {
            assert_eq!(fill(&budget, source).len(), 1, "{source}");
        }
        drop(all_but_the_others);
        assert_eq!(fill(&budget, "stripe").len(), 5);
    }

    #[test]
    fn one_peer_never_takes_all_of_a_source() {
        let budget = budget(1);
        let mut one = share(&budget, "stripe", "2001:db8::1");
        let mut same_network = share(&budget, "stripe", "2001:db8::2");
        one.grow(400 * KIB + FREE_BYTES).unwrap();
        same_network.grow(FREE_BYTES).unwrap();
        same_network.grow(1).unwrap_err();
        let mut other = share(&budget, "stripe", "192.0.2.1");
        other.grow(400 * KIB).unwrap();
        drop(one);
        same_network.grow(400 * KIB - 1).unwrap();
    }

    #[test]
    fn the_beginning_of_a_body_is_free() {
        let budget = budget(1);
        let _full = fill(&budget, "stripe");
        let mut more = share(&budget, "stripe", "192.0.2.200");
        more.grow(FREE_BYTES).unwrap();
        more.grow(1).unwrap_err();
    }

    #[test]
    fn what_is_proven_is_out_of_strangers_way_and_they_of_its() {
        let budget = budget(1);
        let mut proven = share(&budget, "stripe", "192.0.2.1");
        proven.grow(300 * KIB).unwrap();
        proven.prove().unwrap();
        assert_eq!(fill(&budget, "stripe").len(), 8);
        let _full = fill(&budget, "stripe");
        let mut small = share(&budget, "stripe", "192.0.2.1");
        small.grow(FREE_BYTES).unwrap();
        small.prove().unwrap();
        let mut large = share(&budget, "stripe", "192.0.2.1");
        large.bytes = 200 * KIB;
        large.prove().unwrap_err();
        drop(proven);
        large.prove().unwrap();
    }

    #[test]
    fn nobody_is_remembered_who_holds_nothing() {
        let budget = budget(1);
        drop(fill(&budget, "stripe"));
        let held = budget.unproven();
        assert!(held.by_source.is_empty() && held.by_peer.is_empty());
    }
}
