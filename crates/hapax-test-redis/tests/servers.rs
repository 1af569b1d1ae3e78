//! The base of other tests: servers that start, die, come back and fail over.

use hapax_test_redis::{Cluster, Server, fresh_prefix};

#[test]
fn the_shared_server_is_one_for_all_and_keeps_what_it_was_told() {
    let (one, two) = (Server::shared().unwrap(), Server::shared().unwrap());
    let key = fresh_prefix();
    one.call(&["SET", &key, "kept"]).unwrap();
    assert_eq!(two.call(&["GET", &key]).unwrap().text(), "kept");
    assert_eq!(one.port(), two.port());
    assert!(one.kill().is_err(), "others use it");
}

#[test]
fn a_killed_server_comes_back_on_its_port_with_what_was_synced() {
    let server = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]).unwrap();
    let (port, pid) = (server.port(), server.pid().unwrap());
    server.call(&["SET", "key", "kept"]).unwrap();
    server.kill().unwrap();
    assert!(server.call(&["PING"]).is_err());
    server.restart().unwrap();
    assert_eq!(server.call(&["GET", "key"]).unwrap().text(), "kept");
    assert_eq!(server.port(), port);
    assert_ne!(server.pid().unwrap(), pid);
}

#[test]
fn a_frozen_server_answers_nothing_until_it_is_thawed() {
    let server = Server::start(&[]).unwrap();
    server.freeze().unwrap();
    assert!(server.call(&["PING"]).is_err());
    server.thaw().unwrap();
    assert_eq!(server.call(&["PING"]).unwrap().text(), "PONG");
}

#[test]
fn a_dropped_server_leaves_neither_a_process_nor_a_folder() {
    let server = Server::start(&[]).unwrap();
    let folder = server.call(&["CONFIG", "GET", "dir"]).unwrap().list()[1].text();
    let process = format!("/proc/{}", server.pid().unwrap());
    assert!(std::fs::exists(&folder).unwrap() && std::fs::exists(&process).unwrap());
    drop(server);
    assert!(!std::fs::exists(&folder).unwrap() && !std::fs::exists(&process).unwrap());
}

#[test]
fn the_shared_cluster_has_a_master_for_every_slot() {
    let cluster = Cluster::shared().unwrap();
    cluster.wait_until_ok().unwrap();
    let masters: Vec<usize> = [0, 8_000, 16_383]
        .map(|slot| cluster.master_of_slot(slot).unwrap())
        .to_vec();
    assert_eq!(masters, [0, 1, 2]);
    assert!(cluster.url().starts_with("redis-cluster://127.0.0.1:"));
}

#[test]
fn a_replica_takes_over_from_a_killed_master_which_comes_back_as_its_replica() {
    let cluster = Cluster::start(&[]).unwrap();
    let slot = cluster.slot_of("{one}:key").unwrap();
    let master = cluster.master_of_slot(slot).unwrap();
    let mut connection = cluster.nodes()[master].connect().unwrap();
    connection.call(&["SET", "{one}:key", "kept"]).unwrap();
    assert_eq!(connection.call(&["WAIT", "1", "5000"]).unwrap().number(), Some(1));

    assert_eq!(
        cluster.kill_master(usize::from(slot) * 3 / 16_384).unwrap(),
        master
    );
    cluster.wait_until_ok().unwrap();
    let promoted = cluster.master_of_slot(slot).unwrap();
    assert_ne!(promoted, master);
    assert_eq!(
        cluster.nodes()[promoted]
            .call(&["GET", "{one}:key"])
            .unwrap()
            .text(),
        "kept"
    );

    cluster.restart_node(master).unwrap();
    cluster.wait_until_ok().unwrap();
    assert_eq!(
        cluster.nodes()[master].info("role").unwrap().as_deref(),
        Some("slave")
    );
}

#[test]
fn a_slot_is_moved_key_by_key_and_refuses_half_a_command_in_between() {
    let cluster = Cluster::start(&[]).unwrap();
    let slot = cluster.slot_of("{one}").unwrap();
    let from = cluster.master_of_slot(slot).unwrap();
    let to = (from + 1) % 3;
    cluster.nodes()[from]
        .call(&["MSET", "{one}:a", "1", "{one}:b", "2"])
        .unwrap();

    let moving = cluster.begin_move(slot, to).unwrap();
    assert_eq!(moving.step(1).unwrap(), 1);
    let both = cluster.nodes()[from]
        .call(&["MGET", "{one}:a", "{one}:b"])
        .unwrap_err();
    assert!(both.to_string().contains("TRYAGAIN"), "{both}");
    while moving.step(1).unwrap() > 0 {}
    moving.finish().unwrap();

    assert_eq!(cluster.master_of_slot(slot).unwrap(), to);
    let both = cluster.nodes()[to].call(&["MGET", "{one}:a", "{one}:b"]).unwrap();
    assert_eq!(
        (both.list()[0].text(), both.list()[1].text()),
        ("1".to_owned(), "2".to_owned())
    );
    cluster.wait_until_ok().unwrap();
}
