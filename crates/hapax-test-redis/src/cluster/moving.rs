//! A slot on its way from one master to another, a few keys at a time, so that a test can act in the middle.

use super::Cluster;
use crate::node::Node;
use crate::wire::Reply;
use crate::{ServerError, cluster::view};

/// Milliseconds that moving a few keys may take.
const MIGRATE_TIMEOUT: &str = "5000";

/// A slot in two places, until [`SlotMove::finish`].
#[derive(Debug)]
pub struct SlotMove<'a> {
    cluster: &'a Cluster,
    slot: u16,
    from: &'a Node,
    to: &'a Node,
}

impl<'a> SlotMove<'a> {
    pub(super) fn begin(cluster: &'a Cluster, slot: u16, to: usize) -> Result<Self, ServerError> {
        let moving = Self {
            cluster,
            slot,
            from: cluster.node(cluster.master_of_slot(slot)?)?,
            to: cluster.node(to)?,
        };
        let (source, target) = (id(moving.from)?, id(moving.to)?);
        moving.set(moving.to, "IMPORTING", &source)?;
        moving.set(moving.from, "MIGRATING", &target)?;
        Ok(moving)
    }

    /// Moves at most `keys_max` keys. Returns how many were moved; 0 means that none is left.
    pub fn step(&self, keys_max: usize) -> Result<usize, ServerError> {
        let slot = self.slot.to_string();
        let keys = self
            .from
            .call(&["CLUSTER", "GETKEYSINSLOT", &slot, &keys_max.to_string()])?;
        let keys = keys.list();
        if keys.is_empty() {
            return Ok(0);
        }
        let port = self.to.port().to_string();
        let head = ["MIGRATE", "127.0.0.1", &port, "", "0", MIGRATE_TIMEOUT, "KEYS"];
        let mut command: Vec<&[u8]> = head.iter().map(|word| word.as_bytes()).collect();
        command.extend(keys.iter().filter_map(bytes));
        self.from.call(&command)?;
        Ok(keys.len())
    }

    /// Assigns the slot to the other master, and waits until all servers know.
    pub fn finish(self) -> Result<(), ServerError> {
        let target = id(self.to)?;
        // First the new master, then the old one: in between, both claim the slot, which is better than neither.
        self.set(self.to, "NODE", &target)?;
        self.set(self.from, "NODE", &target)?;
        let (slot, port) = (self.slot, self.to.port());
        self.cluster.wait("the slot's move", |node| {
            let view = view::of(node)?;
            Ok((view.master_of(slot) == Some(port), view.to_string()))
        })
    }

    fn set(&self, node: &Node, state: &str, id: &str) -> Result<Reply, ServerError> {
        node.call(&["CLUSTER", "SETSLOT", &self.slot.to_string(), state, id])
    }
}

fn bytes(key: &Reply) -> Option<&[u8]> {
    match key {
        Reply::Value(bytes) => Some(bytes),
        Reply::Number(_) | Reply::Nil | Reply::List(_) | Reply::Error(_) => None,
    }
}

fn id(node: &Node) -> Result<String, ServerError> {
    Ok(node.call(&["CLUSTER", "MYID"])?.text())
}
