//! A full disk: 503 while it is full, and automatic recovery when there is room. Nothing answered 2xx is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, prlimit};

use super::disk::Disk;
use hapax_testkit::{Delivery, HttpResponse, Sender, Service, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;

#[tokio::test]
async fn a_full_disk_is_503_until_there_is_room_and_nothing_answered_is_lost() {
    let sink = Sink::start().await;
    let Some(disk) = Disk::mount("24m") else {
        // Without permission to mount, a limit on file sizes stands in for a full disk.
        return fill_and_recover(&sink, Setup::stripe_to(&sink), Room::FileSize).await;
    };
    let filler = disk.join("filler");
    let setup = Setup::stripe_to(&sink).store(&disk.join("hapax.db"));
    fill_and_recover(&sink, setup, Room::Filler(filler)).await;
}

#[tokio::test]
async fn a_file_that_may_not_grow_is_503_until_it_may_and_nothing_answered_is_lost() {
    let sink = Sink::start().await;
    fill_and_recover(&sink, Setup::stripe_to(&sink), Room::FileSize).await;
}

/// Takes the room away and gives it back.
enum Room {
    /// A file on the same disk.
    Filler(std::path::PathBuf),
    /// The limit on the size of the process's files.
    FileSize,
}

impl Room {
    fn take(&self, service: &Service) {
        match self {
            Self::Filler(path) => std::fs::write(path, vec![0; 18 * MIB]).unwrap(),
            Self::FileSize => limit_files(service, Some(2 * MIB as u64)),
        }
    }

    /// Whether not even the smallest write fits: under a limit on file sizes there is room for small ones.
    const fn is_all_taken(&self) -> bool {
        matches!(self, Self::Filler(_))
    }

    fn give_back(&self, service: &Service) {
        match self {
            Self::Filler(path) => std::fs::remove_file(path).unwrap(),
            Self::FileSize => limit_files(service, None),
        }
    }
}

async fn fill_and_recover(sink: &Sink, setup: Setup, room: Room) {
    // A process that writes beyond its limit gets this signal, which would end it.
    let mut service = setup.before("trap '' XFSZ").start().await;
    let mut answered = BTreeSet::new();
    answered.insert(deliver(&service, "evt_before").await.1.event_id);

    room.take(&service);
    let mut number = 0;
    let refused = loop {
        assert!(number < 1000, "1000 events of 64 KiB fit where there is no room");
        let (answer, delivery) = deliver(&service, &format!("evt_{number}")).await;
        if !answer.is_durable() {
            answer.assert_problem(503, "store_unavailable");
            assert!(answer.header("retry-after").is_some());
            break delivery;
        }
        answered.insert(delivery.event_id);
        number += 1;
    };
    if room.is_all_taken() {
        eventually("the service reports that it is not ready", LIMIT, async || {
            (service.admin("/readyz").await.status == 503).then_some(())
        })
        .await;
    }
    assert!(
        service.log().contains("full") || service.log().contains("writing"),
        "the log says why"
    );

    room.give_back(&service);
    let accepted = eventually("there is room again", LIMIT, async || {
        let answer = service.deliver(&refused).await;
        answer.is_durable().then_some(answer)
    })
    .await;
    assert!(["accepted", "duplicate"].contains(&accepted.field("status").as_str()));
    answered.insert(refused.event_id);

    sink.until("every answered event took effect", LIMIT, |sink| {
        answered.is_subset(&sink.events_applied())
    })
    .await;
    sink.assert_one_key_for_each_event();
    service.restart().await;
    for id in &answered {
        deliver(&service, id).await.0.assert_durable("duplicate");
    }
}

async fn deliver(service: &Service, id: &str) -> (HttpResponse, Delivery) {
    let body = format!(r#"{{"id":"{id}","type":"big","pad":"{}"}}"#, "x".repeat(64 << 10));
    let delivery = Sender::of("stripe").with_body(id, body);
    (service.deliver(&delivery).await, delivery)
}

fn limit_files(service: &Service, bytes: Option<u64>) {
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    prlimit(Some(service.pid()), Resource::Fsize, limit).unwrap();
}
