//! A damaged file: the service reports it, refuses to start, and leaves every byte of it alone.

use std::path::PathBuf;
use std::time::Duration;

use hapax_testkit::{Sender, Setup};

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let setup = Setup::new().source("stripe", "stripe", "");
    let garbage: Vec<u8> = (0..64 * 1024_u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    std::fs::write(setup.store_path(), garbage).unwrap();
    assert_refused_and_unchanged(&setup).await;
}

#[tokio::test]
async fn a_database_that_was_cut_short_is_refused_and_left_alone() {
    let setup = filled().await;
    let bytes = std::fs::read(setup.store_path()).unwrap();
    std::fs::write(setup.store_path(), &bytes[..bytes.len() / 2]).unwrap();
    assert_refused_and_unchanged(&setup).await;
}

#[tokio::test]
async fn a_database_with_flipped_bytes_in_its_middle_is_refused_and_left_alone() {
    let setup = filled().await;
    let mut bytes = std::fs::read(setup.store_path()).unwrap();
    // Half of the pages lose their headers, which hold their structure.
    for page in bytes.chunks_mut(4096).skip(2).step_by(2) {
        for byte in &mut page[..64] {
            *byte ^= 0xa5;
        }
    }
    std::fs::write(setup.store_path(), bytes).unwrap();
    assert_refused_and_unchanged(&setup).await;
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let setup = filled().await;
    let database = rusqlite::Connection::open(setup.store_path()).unwrap();
    make_newer(&database);
    drop(database);
    let message = assert_refused_and_unchanged(&setup).await;
    assert!(
        message.contains("newer") || message.contains("version"),
        "{message}"
    );
}

/// A store with some events in it, closed properly.
async fn filled() -> Setup {
    let mut service = Setup::new().source("stripe", "stripe", "").start().await;
    let sender = Sender::of("stripe");
    for number in 0..50 {
        let id = format!("evt_{number}");
        let body = format!(r#"{{"id":"{id}","pad":"{}"}}"#, "x".repeat(3000));
        service.deliver_twice(&sender.with_body(&id, body)).await;
    }
    service.signal(rustix::process::Signal::TERM);
    service.ended(Duration::from_secs(20)).await;
    service.into_setup()
}

/// Marks the schema as one that this version cannot know.
fn make_newer(database: &rusqlite::Connection) {
    database.pragma_update(None, "user_version", 9999).unwrap();
    // A newer schema may still support older programs; this one declares that it does not.
    let changed = database
        .execute("update meta set value = 9999 where key = 'min_compatible'", [])
        .unwrap();
    assert_eq!(changed, 1);
}

async fn assert_refused_and_unchanged(setup: &Setup) -> String {
    let before = files(setup);
    let refused = setup.refusal().await;
    refused.assert_code(1);
    assert!(
        refused.stderr.contains("hapax.db"),
        "the message names the file: {}",
        refused.stderr
    );
    assert_eq!(files(setup), before, "a byte of the store has changed");
    refused.stderr
}

/// The database and its accompanying files, with contents; empty files are left out.
fn files(setup: &Setup) -> Vec<(PathBuf, Vec<u8>)> {
    let store = setup.store_path();
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", store.display()));
    [store.clone(), beside("-wal"), beside("-journal")]
        .into_iter()
        .filter_map(|path| {
            std::fs::read(&path)
                .ok()
                .filter(|bytes| !bytes.is_empty())
                .map(|bytes| (path, bytes))
        })
        .collect()
}
