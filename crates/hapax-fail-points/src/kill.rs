//! Kills the process at a fail point with SIGKILL, once per order.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use super::{ALL, KILL_FILE, folder};

/// Watches for a kill order at every fail point, if the environment names a folder.
pub fn listen() {
    let Some(folder) = folder() else { return };
    let order = Arc::new(folder.join(KILL_FILE));
    for point in ALL {
        let (order, times) = (Arc::clone(&order), AtomicU32::new(0));
        let reached = move || {
            if is_due(&order, point.name, &times) {
                die(&order);
            }
        };
        if let Err(error) = fail::cfg_callback(point.name, reached) {
            tracing::error!(point = point.name, error, "the fail point cannot be used");
        }
    }
}

/// Whether the order names this point and the point has now been reached the ordered number of times.
fn is_due(order: &Path, name: &str, times: &AtomicU32) -> bool {
    let Ok(text) = std::fs::read_to_string(order) else {
        return false;
    };
    let Some((ordered, count)) = text.trim().split_once(' ') else {
        return false;
    };
    ordered == name
        && count
            .parse()
            .is_ok_and(|count: u32| times.fetch_add(1, Ordering::Relaxed) + 1 >= count)
}

/// Removes the order first, so that the next start survives.
fn die(order: &Path) {
    // Two threads may get here at once. One of them finds the file already removed; both end.
    let _ = std::fs::remove_file(order);
    let _ = kill_process(getpid(), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_due_when_it_was_reached_as_often_as_ordered() {
        let folder = tempfile::tempdir().unwrap();
        let order = folder.path().join(KILL_FILE);
        let times = AtomicU32::new(0);
        assert!(!is_due(&order, "run.before_attempt", &times), "without an order");
        std::fs::write(&order, "run.before_attempt 2\n").unwrap();
        assert!(!is_due(&order, "run.after_attempt", &times), "another point");
        assert!(!is_due(&order, "run.before_attempt", &times), "the first time");
        assert!(is_due(&order, "run.before_attempt", &times), "the second time");
    }
}
