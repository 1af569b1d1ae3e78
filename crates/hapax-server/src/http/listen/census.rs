//! How many connections each peer has, so that one of them never takes those of the others.

use std::collections::HashMap;
use std::net::IpAddr;

use super::peer::Peer;

/// The connections of one listener.
#[derive(Debug)]
pub(super) struct Census {
    connections_max: usize,
    peer_connections_max: usize,
    open: usize,
    /// Only of peers that have any.
    by_peer: HashMap<IpAddr, usize>,
}

/// Why there is no room for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// All peers together have this many.
    All(usize),
    /// This peer has this many.
    Peer(usize),
}

impl Census {
    /// An eighth of all connections is never one peer's, however much it is granted.
    pub(super) fn new(connections_max: usize, peer_connections_max: usize) -> Self {
        let others = connections_max / 8;
        Self {
            connections_max,
            peer_connections_max: peer_connections_max.min(connections_max - others),
            open: 0,
            by_peer: HashMap::new(),
        }
    }

    /// Counts one more, if there is room for it.
    pub(super) fn enter(&mut self, peer: Peer) -> Result<(), Full> {
        let count = self.by_peer.get(&peer.network()).copied().unwrap_or(0);
        if self.open >= self.connections_max {
            return Err(Full::All(self.connections_max));
        }
        if count >= self.peer_connections_max {
            return Err(Full::Peer(self.peer_connections_max));
        }
        self.open += 1;
        self.by_peer.insert(peer.network(), count + 1);
        Ok(())
    }

    /// One that was counted is gone.
    pub(super) fn leave(&mut self, peer: Peer) {
        self.open = self.open.saturating_sub(1);
        if let Some(count) = self.by_peer.get_mut(&peer.network()) {
            *count -= 1;
            if *count == 0 {
                self.by_peer.remove(&peer.network());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Peer {
        Peer(text.parse().unwrap())
    }

    #[test]
    fn one_peer_has_its_share_and_leaves_the_rest_to_others() {
        let mut census = Census::new(16, 100);
        for _ in 0..14 {
            census.enter(peer("192.0.2.1")).unwrap();
        }
        assert_eq!(census.enter(peer("192.0.2.1")), Err(Full::Peer(14)));
        // The same peer in another notation.
        assert_eq!(census.enter(peer("::ffff:192.0.2.1")), Err(Full::Peer(14)));
        census.enter(peer("2001:db8::1")).unwrap();
        census.enter(peer("2001:db8::2")).unwrap();
        assert_eq!(census.enter(peer("192.0.2.9")), Err(Full::All(16)));
        census.leave(peer("192.0.2.1"));
        census.enter(peer("192.0.2.9")).unwrap();
    }

    #[test]
    fn nobody_is_remembered_who_left() {
        let mut census = Census::new(8, 8);
        for last in 1..=100 {
            let peer = peer(&format!("192.0.2.{last}"));
            census.enter(peer).unwrap();
            census.leave(peer);
        }
        assert!(census.by_peer.is_empty() && census.open == 0);
    }
}
