//! Another user of the machine reads the store's files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::report;
use hapax_testkit::{Sender, Setup, Sink};

/// Files that other users have any access to, with their modes.
fn open_files(folder: &Path, prefix: &str) -> (usize, Vec<(PathBuf, u32)>) {
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let of_store = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(prefix);
    let mode = |path: PathBuf| {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        (path, mode)
    };
    let all: Vec<_> = files.filter(of_store).map(mode).collect();
    let count = all.len();
    (
        count,
        all.into_iter().filter(|(_, mode)| mode & 0o077 != 0).collect(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_of_the_store_are_for_their_owner_alone() {
    let sink = Sink::start().await;
    let mut service = Setup::stripe_to(&sink).before("umask 000").start().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let folder = service.setup.path().to_owned();
    let (made, open) = open_files(&folder, "hapax.db");

    // As an earlier version left them, and as a killed process does: with a log next to the database.
    service.kill().await;
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let path = folder.join(format!("hapax.db{suffix}"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    service.start_again().await;
    service.deliver_twice(&Sender::of("stripe").event("evt_2")).await;
    let (_, left) = open_files(&folder, "hapax.db");
    let log = service.log();
    service.stop().await;

    let ran = service
        .hapax(&["store", "migrate", "--to", "sqlite:copy.db"])
        .await;
    let (copies, open_copies) = open_files(&folder, "copy.db");
    report::write(
        "files",
        &format!("{made} files of a store under umask 000, the same after a chmod 644, {copies} of a copy"),
        &format!(
            "others may read {} + {} + {}",
            open.len(),
            left.len(),
            open_copies.len()
        ),
    );
    ran.assert_code(0);
    assert!(made >= 4 && copies >= 2, "{made} {copies}");
    assert_eq!((open, left, open_copies), (Vec::new(), Vec::new(), Vec::new()));
    assert!(log.contains("was open to other users"), "{log}");
}
