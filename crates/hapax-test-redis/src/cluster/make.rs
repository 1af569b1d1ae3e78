//! Joins six separate servers into a cluster.

use super::{Cluster, MASTERS, SLOTS, view};
use crate::ServerError;
use crate::node::Node;

/// Introduces the servers, assigns the slots, and gives each master its replica.
pub(super) fn join_together(cluster: &Cluster) -> Result<(), ServerError> {
    number_and_deal(cluster)?;
    introduce(cluster)?;
    follow(cluster)?;
    cluster.wait_until_ok()
}

/// The first and the last slot of a third.
pub(super) fn range(third: usize) -> (u16, u16) {
    let border = |part: usize| (part * usize::from(SLOTS) / MASTERS) as u16;
    (border(third), border(third + 1) - 1)
}

/// Each server gets its own epoch before they meet, so that they need not resolve a conflict.
fn number_and_deal(cluster: &Cluster) -> Result<(), ServerError> {
    for (index, node) in cluster.nodes().iter().enumerate() {
        node.call(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
        if index < MASTERS {
            let (first, last) = range(index);
            node.call(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()])?;
        }
    }
    Ok(())
}

fn introduce(cluster: &Cluster) -> Result<(), ServerError> {
    let Some((first, others)) = cluster.nodes().split_first() else {
        return Ok(());
    };
    for other in others {
        let bus = other.call(&["CONFIG", "GET", "cluster-port"])?;
        let bus = bus.list().get(1).map(crate::Reply::text).unwrap_or_default();
        first.call(&["CLUSTER", "MEET", "127.0.0.1", &other.port().to_string(), &bus])?;
    }
    cluster.wait("the servers' meeting", |node| {
        let view = view::of(node)?;
        Ok((view.is_acquainted(), view.to_string()))
    })
}

fn follow(cluster: &Cluster) -> Result<(), ServerError> {
    let (masters, replicas) = cluster.nodes().split_at(MASTERS);
    for (master, replica) in masters.iter().zip(replicas) {
        let id = id(master)?;
        replica.call(&["CLUSTER", "REPLICATE", &id])?;
    }
    cluster.wait("the replicas' appearance", |node| {
        let view = view::of(node)?;
        Ok((view.replicas() == replicas.len(), view.to_string()))
    })
}

fn id(node: &Node) -> Result<String, ServerError> {
    Ok(node.call(&["CLUSTER", "MYID"])?.text())
}
