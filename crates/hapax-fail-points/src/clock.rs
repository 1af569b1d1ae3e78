//! The host's clocks, with the wall clock shifted by the offset in a file. Elapsed time is not shifted.

use std::path::PathBuf;
use std::time::Duration;

use hapax_core::{Clock, SystemClock, Timestamp};

use super::{CLOCK_FILE, folder};

/// A clock that a test can shift while the process runs.
#[derive(Debug)]
pub struct MovableClock {
    system: SystemClock,
    file: Option<PathBuf>,
}

impl Default for MovableClock {
    fn default() -> Self {
        Self {
            system: SystemClock::default(),
            file: folder().map(|folder| folder.join(CLOCK_FILE)),
        }
    }
}

impl MovableClock {
    fn seconds_off(&self) -> i64 {
        let read = self.file.as_ref().map(std::fs::read_to_string);
        read.and_then(Result::ok)
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or_default()
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Timestamp {
        let off = self.seconds_off();
        let by = Duration::from_secs(off.unsigned_abs());
        let now = self.system.now();
        if off < 0 { now.minus(by) } else { now.plus(by) }
    }

    fn elapsed(&self) -> Duration {
        self.system.elapsed()
    }
}
