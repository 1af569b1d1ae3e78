//! An encrypted store: neither its file nor its log reveals any content.

use std::sync::Arc;

use hapax_core::{Backend, Secret, SystemClock};
use hapax_seal::{Keys, Sealed, Writes};
use hapax_store_laws::marks::{is_shown, leave_marks};
use hapax_store_laws::turn_on_and_rotate;
use hapax_store_sqlite::{Options, SqliteStore};

#[tokio::test(flavor = "multi_thread")]
async fn neither_file_nor_log_shows_what_was_encrypted() {
    for is_encrypted in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.db");
        let plain =
            Arc::new(SqliteStore::open(&path, Options::new(Arc::new(SystemClock::default()))).unwrap());
        let store: Arc<dyn Backend> = if is_encrypted {
            let keys = Keys::new(Writes::Sealed, &[Secret::new("k".repeat(32))]).unwrap();
            let inner = Arc::clone(&plain) as Arc<dyn Backend>;
            Arc::new(Sealed::open(inner, keys).await.unwrap())
        } else {
            Arc::clone(&plain) as Arc<dyn Backend>
        };
        leave_marks(&*store).await;
        let mut kept = Vec::new();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            kept.extend(std::fs::read(file.unwrap().path()).unwrap());
        }
        assert_eq!(is_shown(&kept), !is_encrypted);
        plain.close().await;
        assert_eq!(is_shown(&std::fs::read(&path).unwrap()), !is_encrypted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_forgets_what_was_in_plain_once_it_is_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hapax.db");
    let plain = Arc::new(SqliteStore::open(&path, Options::new(Arc::new(SystemClock::default()))).unwrap());
    turn_on_and_rotate(&(Arc::clone(&plain) as Arc<dyn Backend>)).await;
    plain.close().await;
    let file = std::fs::read(&path).unwrap();
    assert!(!is_shown(&file), "not even in deleted rows");
}
