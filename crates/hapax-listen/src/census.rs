//! Counts each peer's connections, or concurrent requests, so that no peer can use up those of the others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::peer::Peer;

/// The connections or requests that one listener has open.
#[derive(Debug)]
pub(super) struct Census {
    max: usize,
    peer_max: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    /// Contains only peers with a count above zero.
    by_peer: HashMap<IpAddr, usize>,
}

/// Why one more cannot be admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// All peers together have this many.
    All(usize),
    /// This peer has this many.
    Peer(usize),
}

/// A counted connection or request. It stops counting when dropped.
#[derive(Debug)]
pub(super) struct CountedConnection {
    census: Arc<Census>,
    peer: Option<IpAddr>,
}

impl Census {
    /// An eighth of the total is never available to a single peer, whatever its limit.
    pub(super) fn new(max: usize, peer_max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            peer_max: peer_max.min(max - max / 8),
            counts: Mutex::default(),
        })
    }

    /// Counts one more, if there is room. Without a peer, it counts only towards the total.
    pub(super) fn enter(self: &Arc<Self>, peer: Option<Peer>) -> Result<CountedConnection, Full> {
        let mut counts = self.counts.lock();
        if counts.all >= self.max {
            return Err(Full::All(self.max));
        }
        let peer = peer.map(Peer::network);
        if let Some(peer) = peer {
            // `entry` is not used, so that a refused peer is not remembered.
            let count = counts.by_peer.get(&peer).copied().unwrap_or(0);
            if count >= self.peer_max {
                return Err(Full::Peer(self.peer_max));
            }
            counts.by_peer.insert(peer, count + 1);
        }
        counts.all += 1;
        let census = Arc::clone(self);
        Ok(CountedConnection { census, peer })
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let mut counts = self.census.counts.lock();
        counts.all = counts.all.saturating_sub(1);
        let Some(peer) = self.peer else { return };
        if let Some(count) = counts.by_peer.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                counts.by_peer.remove(&peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(census: &Arc<Census>, peer: &str) -> Result<CountedConnection, Full> {
        census.enter(Some(Peer(peer.parse().unwrap())))
    }

    #[test]
    fn one_peer_has_its_share_and_leaves_the_rest_to_others() {
        let census = Census::new(16, 100);
        let mut places: Vec<CountedConnection> =
            (0..14).map(|_| enter(&census, "192.0.2.1").unwrap()).collect();
        assert_eq!(enter(&census, "192.0.2.1").unwrap_err(), Full::Peer(14));
        // The same peer in another notation.
        assert_eq!(enter(&census, "::ffff:192.0.2.1").unwrap_err(), Full::Peer(14));
        places.push(enter(&census, "2001:db8::1").unwrap());
        places.push(enter(&census, "2001:db8::2").unwrap());
        assert_eq!(enter(&census, "192.0.2.9").unwrap_err(), Full::All(16));
        places.remove(0);
        enter(&census, "192.0.2.9").unwrap();
    }

    #[test]
    fn a_proxy_counts_among_all_only() {
        let census = Census::new(16, 1);
        let places: Vec<CountedConnection> = (0..16).map(|_| census.enter(None).unwrap()).collect();
        assert_eq!(census.enter(None).unwrap_err(), Full::All(16));
        drop(places);
        enter(&census, "192.0.2.1").unwrap();
    }

    #[test]
    fn nobody_is_remembered_who_left() {
        let census = Census::new(8, 8);
        for last in 1..=100 {
            enter(&census, &format!("192.0.2.{last}")).unwrap();
        }
        let counts = census.counts.lock();
        assert!(counts.by_peer.is_empty() && counts.all == 0);
    }
}
