//! Opening the file: first the lock, then read-only checks, then the schema, and last the leases of the previous
//! process.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use hapax_core::store::Purpose;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::checkpoint::Log;
use crate::connection;
use crate::desk::{Care, Desk, State};
use crate::failure::Failure;
use crate::hot::Hot;
use crate::lock::{Lock, NotLocked, lock_path};
use crate::open_error::OpenError;
use crate::private::beside;
use crate::{Options, import_mark, moment, private, rescue, schema};

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The part of the header that is read.
const HEADER_BYTES: usize = 100;

/// An open file, ready for the writer.
pub(crate) struct Opened {
    pub(crate) lock: Lock,
    pub(crate) connection: Connection,
    pub(crate) state: State,
    pub(crate) log: Arc<Log>,
}

/// Opens or creates the file at `path`.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Opened, OpenError> {
    let lock = Lock::take(path).map_err(|refused| match refused {
        NotLocked::Held => OpenError::AlreadyOpen {
            path: path.to_owned(),
            lock: lock_path(path),
        },
        NotLocked::Io(error) => OpenError::from_io(error),
    })?;
    if file_bytes(path)? > 0 {
        look_at_header(path)?;
        look_without_touching(path, options)?;
    }
    private::prepare(path).map_err(OpenError::from_io)?;
    let log = Arc::new(Log::new(options.wal_bytes_max));
    let connection =
        connection::for_writing(path, options, log.pages_handle()).map_err(OpenError::from_sql)?;
    schema::migrate(&connection)?;
    if options.purpose == Purpose::Serve && import_mark::is_there(&connection).map_err(OpenError::from_sql)? {
        return Err(OpenError::UnfinishedMigration);
    }
    let mut state = State::load(&connection, options).map_err(OpenError::from_sql)?;
    take_over(&connection, &mut state).map_err(|failure| OpenError::from_failure(&failure))?;
    Ok(Opened {
        lock,
        connection,
        state,
        log,
    })
}

fn file_bytes(path: &Path) -> Result<u64, OpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(OpenError::from_io(error)),
    }
}

/// Checks the header before SQLite sees the file.
fn look_at_header(path: &Path) -> Result<(), OpenError> {
    let mut header = [0; HEADER_BYTES];
    let mut file = File::open(path).map_err(OpenError::from_io)?;
    let whole = file.read_exact(&mut header).is_ok();
    if !header.starts_with(MAGIC) {
        return Err(OpenError::NotADatabase {
            reason: "it does not start with an SQLite header".to_owned(),
        });
    }
    if !whole {
        return Err(damaged("it ends within its header"));
    }
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let pages = u64::from(u32::from_be_bytes([
        header[28], header[29], header[30], header[31],
    ]));
    // While there is a log next to it, the file may be shorter than its header says: the rest is in the log.
    let log_waits = file_bytes(&beside(path, "-wal"))? > 0;
    if !log_waits && file_bytes(path)? < pages * page_bytes {
        return Err(damaged("it is shorter than its header says, so it was cut off"));
    }
    Ok(())
}

/// Checks the schema and, in a small file, every page, through a read-only connection.
fn look_without_touching(path: &Path, options: &Options) -> Result<(), OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(OpenError::from_sql)?;
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(OpenError::from_sql)?;
    schema::check(&connection)?;
    if file_bytes(path)? <= options.quick_check_bytes_max {
        let outcome: String = connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(OpenError::from_sql)?;
        if outcome != "ok" {
            return Err(damaged(&outcome));
        }
    }
    Ok(())
}

/// Under the lock, every lease and every waiting delivery was left behind by a process that has ended.
fn take_over(connection: &Connection, state: &mut State) -> Result<(), Failure> {
    let mut desk = Desk {
        connection,
        hot: Hot::prepare(connection)?,
        state,
        care: Care::Swift,
    };
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let outcome = moment::put_right(&mut desk).and_then(|moved| {
        let voided = rescue::void_all(&mut desk)?;
        desk.state.tallies.flush(connection)?;
        moment::keep(&mut desk)?;
        connection.execute_batch("COMMIT")?;
        Ok((moved, voided))
    });
    match outcome {
        Ok((moved, voided)) => {
            if moved > 0 {
                tracing::info!(
                    moved,
                    "the wall clock was ahead when the last process ran: waiting deliveries were moved back"
                );
            }
            if voided > 0 {
                tracing::info!(
                    voided,
                    "deliveries that were running when the last process ended are due again"
                );
            }
            Ok(())
        }
        Err(failure) => {
            if !connection.is_autocommit() {
                connection.execute_batch("ROLLBACK")?;
            }
            Err(failure)
        }
    }
}

fn damaged(reason: &str) -> OpenError {
    OpenError::Damaged {
        reason: reason.to_owned(),
        source: None,
    }
}
