//! Slots of a store that move to another master while events arrive and are delivered.

use std::collections::BTreeSet;

use hapax_test_redis::Cluster;
use tokio::task::block_in_place;

use super::crowd::Crowd;

/// Keys that move at a time, and the steps after which the crowd continues in between.
const KEYS_AT_ONCE: usize = 10;
const STEPS_APART: usize = 20;
/// Events that are answered in the middle of a move.
const EVENTS_APART: usize = 20;

/// Moves this many of the slots that hold the store, each to the next master; returns how many were moved.
pub(super) async fn move_some(cluster: &Cluster, count: usize, crowd: &Crowd) -> usize {
    let slots: Vec<u16> = used(cluster).into_iter().take(count).collect();
    for slot in &slots {
        move_one(cluster, *slot, crowd).await;
    }
    slots.len()
}

async fn move_one(cluster: &Cluster, slot: u16, crowd: &Crowd) {
    let masters = masters(cluster);
    let from = block_in_place(|| cluster.master_of_slot(slot)).unwrap();
    let place = masters.iter().position(|master| *master == from).unwrap();
    let to = masters[(place + 1) % masters.len()];
    let moving = block_in_place(|| cluster.begin_move(slot, to)).unwrap();
    let mut steps = 0;
    while block_in_place(|| moving.step(KEYS_AT_ONCE)).unwrap() > 0 {
        steps += 1;
        if steps == STEPS_APART {
            crowd.until_more(EVENTS_APART).await;
        }
    }
    block_in_place(|| moving.finish()).unwrap();
    crowd.until_more(EVENTS_APART).await;
}

/// The slots that have keys.
fn used(cluster: &Cluster) -> BTreeSet<u16> {
    let mut slots = BTreeSet::new();
    for master in masters(cluster) {
        let keys = cluster.nodes()[master].call(&["KEYS", "{torture:*"]).unwrap();
        for key in keys.list() {
            slots.insert(cluster.slot_of(&key.text()).unwrap());
        }
    }
    slots
}

fn masters(cluster: &Cluster) -> Vec<usize> {
    let nodes = cluster.nodes().iter().enumerate();
    let is_master = |node: &hapax_test_redis::Node| node.info("role").unwrap().as_deref() == Some("master");
    nodes
        .filter(|(_, node)| is_master(node))
        .map(|(index, _)| index)
        .collect()
}
