//! The disk under the store: free space, and how long a flush takes.

use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::check::Check;
use hapax_api::readable;
use hapax_config::StoreUrl;

/// With less free space than this, the store will soon fail.
const FREE_BYTES_FAIL: u64 = 64 << 20;
/// With less free space than this, an operator should act.
const FREE_BYTES_WARN: u64 = 1 << 30;
/// A write-ahead log larger than this is not being checkpointed.
const WAL_BYTES_WARN: u64 = 1 << 30;
/// A slower flush limits how many events per second can be acknowledged.
const FLUSH_WARN: Duration = Duration::from_millis(20);
/// Number of flushes to measure.
const FLUSHES: usize = 21;
const BLOCK_BYTES: usize = 4_096;

pub(super) fn check(store: &StoreUrl) -> Vec<Check> {
    // A database server's disk cannot be examined from here.
    let StoreUrl::Sqlite(path) = store else {
        return Vec::new();
    };
    let folder = folder_of(path);
    let mut checks = vec![room(&folder), flush(&folder)];
    checks.extend(log(path));
    checks
}

/// The folder that holds the store's file.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

fn room(folder: &Path) -> Check {
    let name = "disk room";
    let free = match rustix::fs::statvfs(folder) {
        Ok(stat) => stat.f_bavail.saturating_mul(stat.f_frsize),
        Err(error) => {
            let detail = format!("{} cannot be read: {error}", folder.display());
            return Check::fail(name, detail, format!("`mkdir -p {}`", folder.display()));
        }
    };
    let detail = format!("{} free at {}", readable::size(free), folder.display());
    let fix =
        "free some space, or shorten payload_retention; while the disk is full, webhooks are answered 503";
    match free {
        0..FREE_BYTES_FAIL => Check::fail(name, detail, fix),
        FREE_BYTES_FAIL..FREE_BYTES_WARN => Check::warn(name, detail, fix),
        FREE_BYTES_WARN.. => Check::ok(name, detail),
    }
}

fn flush(folder: &Path) -> Check {
    let name = "disk flush";
    match median_flush(folder) {
        Ok(median) => {
            let detail = format!(
                "{:.1} ms to flush 4 KiB (median of {FLUSHES})",
                median.as_secs_f64() * 1e3
            );
            if median <= FLUSH_WARN {
                Check::ok(name, detail)
            } else {
                Check::warn(
                    name,
                    detail,
                    "use a faster disk for the store: every acknowledgement waits for a flush",
                )
            }
        }
        Err(error) => Check::fail(
            name,
            format!("{} cannot be written: {error}", folder.display()),
            format!(
                "allow the service's user to write there: `chown -R hapax {}`",
                folder.display()
            ),
        ),
    }
}

fn median_flush(folder: &Path) -> io::Result<Duration> {
    let mut file = tempfile::tempfile_in(folder)?;
    let mut took = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        let begun = Instant::now();
        file.rewind()?;
        file.write_all(&[0x5a; BLOCK_BYTES])?;
        file.sync_data()?;
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    Ok(took[FLUSHES / 2])
}

fn log(path: &Path) -> Option<Check> {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    let bytes = std::fs::metadata(PathBuf::from(name)).ok()?.len();
    let detail = format!(
        "{} of the write-ahead log are not yet checkpointed",
        readable::size(bytes)
    );
    Some(if bytes <= WAL_BYTES_WARN {
        Check::ok("write-ahead log", detail)
    } else {
        let fix = "find the program that keeps the file open (`fuser FILE`); restarting the service empties the log";
        Check::warn("write-ahead log", detail, fix)
    })
}
