//! An encrypted store: nothing that Redis writes to its disk reveals any content.

use std::sync::Arc;

use hapax_core::{Backend, Secret};
use hapax_seal::{Keys, Sealed, Writes};
use hapax_store_laws::marks::{is_shown, leave_marks};
use hapax_store_laws::turn_on_and_rotate;
use hapax_test_redis::Server;

use crate::bench::open;

#[tokio::test(flavor = "multi_thread")]
async fn no_snapshot_on_disk_shows_what_was_encrypted() {
    for is_encrypted in [false, true] {
        // Compression would hide a string from a plain search.
        let server = Server::start(&["--rdbcompression", "no"]).unwrap();
        let plain: Arc<dyn Backend> = Arc::new(open(&server.url()).await);
        let store = if is_encrypted {
            let keys = Keys::new(Writes::Sealed, &[Secret::new("k".repeat(32))]).unwrap();
            Arc::new(Sealed::open(plain, keys).await.unwrap())
        } else {
            plain
        };
        leave_marks(&*store).await;
        assert_eq!(is_shown(&snapshot(&server)), !is_encrypted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_snapshot_shows_what_was_in_plain_once_it_is_encrypted() {
    let server = Server::start(&["--rdbcompression", "no"]).unwrap();
    let plain: Arc<dyn Backend> = Arc::new(open(&server.url()).await);
    turn_on_and_rotate(&plain).await;
    assert!(!is_shown(&snapshot(&server)));
}

/// The file that the server writes to its disk.
fn snapshot(server: &Server) -> Vec<u8> {
    let mut connection = server.connect().unwrap();
    connection.call(&["SAVE"]).unwrap();
    let mut setting = |name| connection.call(&["CONFIG", "GET", name]).unwrap().list()[1].text();
    let (folder, file) = (setting("dir"), setting("dbfilename"));
    std::fs::read(std::path::Path::new(&folder).join(file)).unwrap()
}
