//! A store that cannot be written to.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use super::disk::Disk;
use hapax_testkit::{Sender, Setup, Sink};

#[tokio::test]
async fn a_store_in_a_directory_that_cannot_be_written_is_refused_with_its_path() {
    let sink = Sink::start().await;
    let place = ReadOnly::new(|_| {});
    let setup = Setup::stripe_to(&sink).store(&place.path().join("hapax.db"));
    let refused = setup.refusal().await;
    refused.assert_code(1);
    assert!(refused.stderr.contains("hapax.db"), "{}", refused.stderr);
    let says_why = [
        "read-only",
        "Read-only",
        "permission",
        "Permission",
        "cannot be written",
    ];
    assert!(
        says_why.iter().any(|why| refused.stderr.contains(why)),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn a_store_that_became_read_only_is_refused_and_keeps_every_event_for_the_day_it_is_not() {
    let sink = Sink::start().await;
    let mut service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    service.deliver_twice(&delivery).await;
    sink.until_effects(1, Duration::from_secs(10)).await;
    service.signal(rustix::process::Signal::TERM);
    service.ended(Duration::from_secs(20)).await;

    let file = service.setup.store_path();
    let place = ReadOnly::new(|directory| {
        std::fs::copy(&file, directory.join("hapax.db")).unwrap();
    });
    let before = std::fs::read(place.path().join("hapax.db")).unwrap();
    let refused = Setup::stripe_to(&sink)
        .store(&place.path().join("hapax.db"))
        .refusal()
        .await;
    refused.assert_code(1);
    assert_eq!(std::fs::read(place.path().join("hapax.db")).unwrap(), before);

    service.start_again().await;
    service.deliver(&delivery).await.assert_durable("duplicate");
}

/// Permissions do not apply to root: if a disk can be mounted, a read-only one is used.
enum ReadOnly {
    Mounted(Disk),
    Permissions(tempfile::TempDir),
}

impl ReadOnly {
    fn new(fill: impl FnOnce(&Path)) -> Self {
        if let Some(disk) = Disk::mount("16m") {
            fill(disk.path());
            disk.make_read_only();
            return Self::Mounted(disk);
        }
        assert!(
            !rustix::process::geteuid().is_root(),
            "root can neither mount a disk here nor be kept from writing"
        );
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path());
        for entry in std::fs::read_dir(directory.path()).unwrap() {
            set_mode(&entry.unwrap().path(), 0o444);
        }
        set_mode(directory.path(), 0o555);
        Self::Permissions(directory)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Mounted(disk) => disk.path(),
            Self::Permissions(directory) => directory.path(),
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
