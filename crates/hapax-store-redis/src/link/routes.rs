//! Which server has which slot. A single server has all of them; a cluster is asked, and again whenever there is doubt.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use redis::Value;
use tokio::time::Instant;

use super::connections::{Connections, Use};
use crate::failure::Failure;
use crate::reply;
use crate::url::{Kind, Node, StoreAddress};

/// How long one server of a cluster may take to report the layout.
const ASKING: Duration = Duration::from_secs(1);

pub(super) struct Routes {
    kind: Kind,
    known: Mutex<Known>,
    asking: tokio::sync::Mutex<()>,
    /// The server to ask first: a different one each time, since one that is cut off knows only an old layout.
    turn: AtomicUsize,
    /// Incremented when a slot gets another master.
    epoch: AtomicU64,
}

struct Known {
    ranges: Vec<Range>,
    /// Every server that was ever named: those that can be asked for the layout.
    nodes: BTreeSet<Node>,
    is_doubted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    first: u16,
    last: u16,
    master: Node,
}

impl Routes {
    pub(super) fn new(place: &StoreAddress) -> Self {
        let ranges = match place.kind {
            Kind::Single => place.nodes.first().map(|node| Range::all(node.clone())),
            Kind::Cluster => None,
        };
        Self {
            kind: place.kind,
            known: Mutex::new(Known {
                ranges: ranges.into_iter().collect(),
                nodes: place.nodes.iter().cloned().collect(),
                is_doubted: true,
            }),
            asking: tokio::sync::Mutex::new(()),
            turn: AtomicUsize::new(0),
            epoch: AtomicU64::new(0),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Makes the next call ask the cluster again.
    pub(super) fn doubt(&self) {
        self.known().is_doubted = true;
    }

    /// Records which server has a slot, as another server reported.
    pub(super) fn moved(&self, slot: u16, to: Node) {
        let mut known = self.known();
        known.nodes.insert(to.clone());
        known.is_doubted = true;
        known.ranges.insert(0, Range::one(slot, to));
        drop(known);
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// The server that has a slot.
    pub(super) async fn node(
        &self,
        slot: u16,
        connections: &Connections,
        deadline: Instant,
    ) -> Result<Option<Node>, Failure> {
        if self.kind == Kind::Cluster && self.known().is_doubted {
            self.ask(connections, deadline).await;
        }
        let known = self.known();
        let range = known.ranges.iter().find(|range| range.has(slot));
        Ok(range.map(|range| range.master.clone()))
    }

    /// Asks one server after another until one knows the layout. If none does, the old layout stays.
    async fn ask(&self, connections: &Connections, deadline: Instant) {
        let _one_at_a_time = self.asking.lock().await;
        let mut nodes: Vec<Node> = {
            let mut known = self.known();
            if !known.is_doubted {
                return;
            }
            known.is_doubted = false;
            known.nodes.iter().cloned().collect()
        };
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % nodes.len().max(1);
        nodes.rotate_left(first);
        for node in nodes {
            let deadline = deadline.min(Instant::now() + ASKING);
            if let Ok(ranges) = slots(&node, connections, deadline).await
                && !ranges.is_empty()
            {
                self.learn(ranges);
                return;
            }
        }
        self.doubt();
    }

    fn learn(&self, ranges: Vec<Range>) {
        let mut known = self.known();
        known
            .nodes
            .extend(ranges.iter().map(|range| range.master.clone()));
        if known.ranges != ranges {
            known.ranges = ranges;
            drop(known);
            self.epoch.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn known(&self) -> parking_lot::MutexGuard<'_, Known> {
        self.known.lock()
    }
}

impl Range {
    const fn all(master: Node) -> Self {
        Self {
            first: 0,
            last: u16::MAX,
            master,
        }
    }

    const fn one(slot: u16, master: Node) -> Self {
        Self {
            first: slot,
            last: slot,
            master,
        }
    }

    const fn has(&self, slot: u16) -> bool {
        self.first <= slot && slot <= self.last
    }
}

async fn slots(node: &Node, connections: &Connections, deadline: Instant) -> Result<Vec<Range>, Failure> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("SLOTS");
    let connection = connections.get(node, Use::Plain, deadline).await?;
    let answer = reply::list(connection.send(&command, deadline).await?)?;
    answer.into_iter().map(|range| read(range, node)).collect()
}

/// First slot, last slot, its master, its replicas.
fn read(range: Value, asked: &Node) -> Result<Range, Failure> {
    let mut parts = reply::list(range)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    let (first, last) = (reply::number(next())? as u16, reply::number(next())? as u16);
    let mut master = reply::list(next())?.into_iter();
    let host = master.next().map(reply::optional_bytes).transpose()?.flatten();
    let port = reply::number(master.next().unwrap_or(Value::Nil))? as u16;
    // A server that does not know its own address omits it: it is the one that was asked.
    let host = host
        .and_then(|host| String::from_utf8(host).ok())
        .filter(|host| !host.is_empty() && host != "?")
        .unwrap_or_else(|| asked.host.clone());
    Ok(Range {
        first,
        last,
        master: Node { host, port },
    })
}
