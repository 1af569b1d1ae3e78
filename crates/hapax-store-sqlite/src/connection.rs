//! Connections: how each thread of the store opens the file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Options;

/// Page size of the file and of the log.
pub(crate) const PAGE_BYTES: u64 = 4_096;
/// How long a statement waits for a lock that another program holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// Prepared statements kept by each connection.
const STATEMENTS_MAX: usize = 128;
/// Page cache of each reader and of the checkpointer.
const READER_CACHE_KIB: i64 = 4 << 10;

/// Below this number of pages, SQLite walks its whole page cache on most commits: splitting a page uses this page
/// number temporarily, and the commit then looks for pages beyond the end of the file. A small cache keeps that walk
/// short until the file has grown.
const LARGE_FILE_PAGES: i64 = (1 << 30) / PAGE_BYTES as i64 + 1;
/// The writer's page cache while the file is smaller than that.
const SMALL_CACHE_BYTES: usize = 12 << 20;

/// The writer's connection. `log_pages` holds the length of the log after each commit.
pub(crate) fn for_writing(
    path: &Path,
    options: &Options,
    log_pages: Arc<AtomicU64>,
) -> rusqlite::Result<Connection> {
    // The file exists already, readable by its owner only. SQLite would create one according to the umask.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    keep_plans(&connection)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES as i64)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    fit_cache(&connection, options)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    if let Some(pages_max) = options.pages_max {
        connection.pragma_update(None, "max_page_count", pages_max)?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.wal_hook(Some(
        move |_: &mut rusqlite::hooks::Wal, pages: std::ffi::c_int| {
            log_pages.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        },
    ))?;
    Ok(connection)
}

/// Sizes the writer's page cache to fit the file.
pub(crate) fn fit_cache(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let bytes = if pages > LARGE_FILE_PAGES {
        options.cache_bytes
    } else {
        options.cache_bytes.min(SMALL_CACHE_BYTES)
    };
    connection.pragma_update(None, "cache_size", -((bytes >> 10) as i64))
}

/// A reader's connection, which cannot write.
pub(crate) fn for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let connection = beside_the_writer(path)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// The checkpointer's connection.
pub(crate) fn for_checkpoints(path: &Path) -> rusqlite::Result<Connection> {
    beside_the_writer(path)
}

fn beside_the_writer(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    keep_plans(&connection)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}

/// Makes plans independent of bound values. SQLite would otherwise prepare a statement again whenever a value is bound
/// to its `LIMIT`, or compared in a query that sorts: ten times the cost of running it. Every statement here names its
/// index where the choice matters, so no plan becomes worse.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use hapax_core::SystemClock;
    use rusqlite::{OptionalExtension, StatementStatus};

    use super::*;

    #[test]
    fn no_connection_prepares_a_statement_again_for_other_values() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.db");
        std::fs::File::create(&path).unwrap();
        let options = Options::new(Arc::new(SystemClock::default()));
        let writer = for_writing(&path, &options, Arc::default()).unwrap();
        crate::schema::migrate(&writer).unwrap();
        for connection in [writer, for_reading(&path).unwrap()] {
            let mut select = connection
                .prepare("SELECT no FROM audit WHERE no < ?1 ORDER BY no DESC LIMIT ?2")
                .unwrap();
            for limit in 1..=3 {
                let found: Option<i64> = select
                    .query_row((10 * limit, limit), |row| row.get(0))
                    .optional()
                    .unwrap();
                assert_eq!(found, None);
            }
            assert_eq!(select.get_status(StatementStatus::RePrepare), 0);
        }
    }
}
