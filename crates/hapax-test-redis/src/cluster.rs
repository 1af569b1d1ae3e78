//! A cluster of six: three masters with one replica each.

mod make;
mod moving;
mod view;

use std::time::{Duration, Instant};

use crate::node::Node;
use crate::{ServerError, folder, shared};

pub use moving::SlotMove;

/// Servers in a cluster: first the masters, then the replica of each.
pub(crate) const NODES: usize = 6;
pub(crate) const MASTERS: usize = 3;
pub(crate) const SLOTS: u16 = 16_384;
/// How long the servers may take to agree.
const AGREE_MAX: Duration = Duration::from_secs(60);
/// The pause between two checks.
const LOOK: Duration = Duration::from_millis(20);
/// Milliseconds without an answer after which a server counts as dead.
const NODE_TIMEOUT: &str = "1500";

/// A running cluster. A private one is stopped when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
}

impl Cluster {
    /// The cluster shared by all test processes. It stores nothing on disk; each test uses its own prefix.
    pub fn shared() -> Result<Self, ServerError> {
        let nodes = shared::join("cluster", |folder| {
            let nodes = (0..NODES)
                .map(|index| Node::detached(&folder.join(format!("node-{index}")), || arguments(&[])));
            let cluster = Self {
                nodes: nodes.collect::<Result<_, _>>()?,
            };
            make::join_together(&cluster)?;
            Ok(cluster.nodes)
        })?;
        Ok(Self { nodes })
    }

    /// A cluster for this test alone. `extra` are arguments for each server, such as `--appendonly yes`.
    pub fn start(extra: &[&str]) -> Result<Self, ServerError> {
        let nodes = (0..NODES).map(|_| Node::private(folder::private()?, || arguments(extra)));
        let cluster = Self {
            nodes: nodes.collect::<Result<_, _>>()?,
        };
        make::join_together(&cluster)?;
        Ok(cluster)
    }

    /// Its servers, in the order used by [`Cluster::restart_node`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The URL, with all servers, so that any of them may be dead.
    pub fn url(&self) -> String {
        let places: Vec<String> = self
            .nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port()))
            .collect();
        format!("redis-cluster://{}", places.join(","))
    }

    /// The same URL, with a key prefix and the number of shards for a new store.
    pub fn url_with(&self, prefix: &str, shards: u8) -> String {
        format!("{}?prefix={prefix}&shards={shards}", self.url())
    }

    pub fn slot_of(&self, key: &str) -> Result<u16, ServerError> {
        let slot = self.any()?.call(&["CLUSTER", "KEYSLOT", key])?.number();
        Ok(slot.and_then(|slot| u16::try_from(slot).ok()).unwrap_or(SLOTS))
    }

    /// The server that owns this slot, according to the running servers.
    pub fn master_of_slot(&self, slot: u16) -> Result<usize, ServerError> {
        let view = view::of(self.any()?)?;
        let master = view.master_of(slot).and_then(|port| self.index_of(port));
        master.ok_or_else(|| ServerError::Failed {
            what: "looking for the master of a slot",
            said: view.to_string(),
        })
    }

    /// Sends SIGKILL to the master of the `third`-th third of the slots (0, 1 or 2). Returns its index.
    pub fn kill_master(&self, third: usize) -> Result<usize, ServerError> {
        let (first, _) = make::range(third);
        let master = self.master_of_slot(first)?;
        self.node(master)?.kill()?;
        Ok(master)
    }

    /// Starts a killed server again. It becomes a replica if it has been replaced.
    pub fn restart_node(&self, index: usize) -> Result<(), ServerError> {
        self.node(index)?.restart()
    }

    /// Waits until all running servers agree that each slot has a running master, and each replica follows its master.
    pub fn wait_until_ok(&self) -> Result<(), ServerError> {
        let running: Vec<u16> = self.running().map(Node::port).collect();
        self.wait("the cluster's agreement", |node| {
            let view = view::of(node)?;
            let state = node.call(&["CLUSTER", "INFO"])?.text();
            let follows = node
                .info("master_link_status")?
                .is_none_or(|status| status == "up");
            let served = view.is_whole_with(&running);
            Ok((
                state.contains("cluster_state:ok") && follows && served,
                view.to_string(),
            ))
        })
    }

    /// Moves a slot, with all keys in it, to another master.
    pub fn move_slot(&self, slot: u16, to: usize) -> Result<(), ServerError> {
        let moving = self.begin_move(slot, to)?;
        while moving.step(KEYS_AT_ONCE)? > 0 {}
        moving.finish()
    }

    /// Begins to move a slot: it is in two places until [`SlotMove::finish`].
    pub fn begin_move(&self, slot: u16, to: usize) -> Result<SlotMove<'_>, ServerError> {
        SlotMove::begin(self, slot, to)
    }

    pub(crate) fn node(&self, index: usize) -> Result<&Node, ServerError> {
        self.nodes.get(index).ok_or_else(|| ServerError::Failed {
            what: "looking for a server of the cluster",
            said: format!("no server has the index {index}"),
        })
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_running())
    }

    /// Waits until `is_so` holds for every running server.
    pub(crate) fn wait(
        &self,
        what: &'static str,
        is_so: impl Fn(&Node) -> Result<(bool, String), ServerError>,
    ) -> Result<(), ServerError> {
        let end = Instant::now() + AGREE_MAX;
        for node in self.running() {
            loop {
                let (is_so, seen) = is_so(node)?;
                if is_so {
                    break;
                }
                if Instant::now() > end {
                    return Err(ServerError::Late { what, seen });
                }
                std::thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    fn any(&self) -> Result<&Node, ServerError> {
        self.running().next().ok_or_else(|| ServerError::Failed {
            what: "looking for a server of the cluster",
            said: "all servers have been killed".to_owned(),
        })
    }

    fn index_of(&self, port: u16) -> Option<usize> {
        self.nodes.iter().position(|node| node.port() == port)
    }
}

/// Keys moved by one command, unless a test controls the steps.
const KEYS_AT_ONCE: usize = 100;

/// A replica begins to follow immediately instead of five seconds later, and none moves to another master
/// automatically.
fn arguments(extra: &[&str]) -> Result<Vec<String>, ServerError> {
    let bus = folder::free_port()?.to_string();
    let own = [
        "--cluster-enabled",
        "yes",
        "--cluster-config-file",
        "nodes.conf",
        "--cluster-node-timeout",
        NODE_TIMEOUT,
        "--cluster-allow-replica-migration",
        "no",
        "--repl-diskless-sync-delay",
        "0",
        "--repl-ping-replica-period",
        "1",
        "--cluster-port",
        &bus,
    ];
    Ok(own.iter().chain(extra).map(ToString::to_string).collect())
}
