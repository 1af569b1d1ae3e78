//! Steps between the shard of an event and the shard of its lane, left behind by a process that died in between.
//!
//! A slot that is being moved refuses scripts: while the lane's slot is moving, a step begins and does not end.

use hapax_core::{EventId, Leased, NewEvent, Store};
use hapax_test_redis::{Cluster, SlotMove, fresh_prefix};

use crate::bench::{
    Maker, accept, accept_again, accept_new, finish, keys_of_cluster, lease, open, open_impatient,
};

const SHARDS: u8 = 8;

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_whose_process_died_before_it_joined_its_lane_joins_it() {
    let cluster = Cluster::start(&[]).unwrap();
    let prefix = fresh_prefix();
    let [head, next] = left_outside(&cluster, &prefix).await;
    let other = open(&cluster.url_with(&prefix, SHARDS)).await;
    let running = lease(&other, "orders", 10).await;
    assert_eq!(ids(&running), [head.id]);
    finish(&other, &running[0]).await;
    assert!(
        lease(&other, "orders", 10).await.is_empty(),
        "the lane was not notified of the next one"
    );
    forget_how_young_steps_are(&cluster, &prefix);
    other.rescue(10).await.unwrap();
    let running = lease(&other, "orders", 10).await;
    assert_eq!(ids(&running), [next.id]);
    accept_again(&other, &next).await;
    finish(&other, &running[0]).await;
    assert!(
        keys_of_cluster(&cluster, &prefix, "j").is_empty(),
        "no step is left"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_answered_once_the_first_has_its_place() {
    let cluster = Cluster::start(&[]).unwrap();
    let prefix = fresh_prefix();
    let [head, next] = left_outside(&cluster, &prefix).await;
    let other = open(&cluster.url_with(&prefix, SHARDS)).await;
    accept_again(&other, &next).await;
    let later = Maker::default().in_lane("later");
    accept_new(&other, &later).await;
    for expected in [&head, &next, &later] {
        let running = lease(&other, "orders", 10).await;
        assert_eq!(ids(&running), [expected.id]);
        finish(&other, &running[0]).await;
    }
    assert!(
        keys_of_cluster(&cluster, &prefix, "j").is_empty(),
        "no step is left"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_goes_on_when_the_process_of_its_head_died_before_it_left() {
    let cluster = Cluster::start(&[]).unwrap();
    let prefix = fresh_prefix();
    let url = cluster.url_with(&prefix, SHARDS);
    let maker = Maker::default();
    let (head, next) = (maker.in_lane("head"), maker.in_lane("next"));
    let dying = open_impatient(&url).await;
    for event in [&head, &next] {
        accept_new(&dying, event).await;
        accept_again(&dying, event).await;
    }
    let leased = lease(&dying, "orders", 10).await.remove(0);
    assert_eq!(leased.event.id, head.id);
    let moving = move_lane(&cluster, &prefix);
    finish(&dying, &leased).await;
    drop(dying);
    arrive(moving);
    let other = open(&url).await;
    assert!(
        lease(&other, "orders", 10).await.is_empty(),
        "the lane was not notified that its head is done"
    );
    forget_how_young_steps_are(&cluster, &prefix);
    other.rescue(10).await.unwrap();
    let running = lease(&other, "orders", 10).await;
    assert_eq!(ids(&running), [next.id]);
    finish(&other, &running[0]).await;
    assert!(
        keys_of_cluster(&cluster, &prefix, "j").is_empty(),
        "no step is left"
    );
}

/// The head of a lane, and an event stored by a process that died before it joined.
async fn left_outside(cluster: &Cluster, prefix: &str) -> [NewEvent; 2] {
    let maker = Maker::default();
    let (head, next) = (maker.in_lane("head"), maker.in_lane("next"));
    let dying = open_impatient(&cluster.url_with(prefix, SHARDS)).await;
    accept_new(&dying, &head).await;
    accept_again(&dying, &head).await;
    let moving = move_lane(cluster, prefix);
    assert!(accept(&dying, &next).await.is_err(), "it could not join");
    assert!(
        accept(&dying, &next).await.is_err(),
        "nor is its duplicate answered"
    );
    drop(dying);
    arrive(moving);
    [head, next]
}

fn ids(leased: &[Leased]) -> Vec<EventId> {
    leased.iter().map(|leased| leased.event.id).collect()
}

/// Begins to move the slot of the only lane.
fn move_lane<'a>(cluster: &'a Cluster, prefix: &str) -> SlotMove<'a> {
    let [(from, lane)] = &keys_of_cluster(cluster, prefix, "yorders*")[..] else {
        panic!("there is one lane");
    };
    let slot = cluster.slot_of(lane).unwrap();
    cluster.begin_move(slot, (from + 1) % 3).unwrap()
}

fn arrive(moving: SlotMove<'_>) {
    while moving.step(100).unwrap() > 0 {}
    moving.finish().unwrap();
}

/// A step belongs to the process that began it for some seconds: makes each step older than that.
fn forget_how_young_steps_are(cluster: &Cluster, prefix: &str) {
    for (master, steps) in keys_of_cluster(cluster, prefix, "j") {
        let node = &cluster.nodes()[master];
        let all = node.call(&["ZRANGE", &steps, "0", "-1"]).unwrap();
        for step in all.list() {
            let hapax_test_redis::Reply::Value(step) = step else {
                panic!("a step is bytes");
            };
            let command: [&[u8]; 4] = [b"ZADD", steps.as_bytes(), b"0", step];
            node.call(&command).unwrap();
        }
    }
}
