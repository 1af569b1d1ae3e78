//! Whether the clock can be trusted: signatures carry timestamps, and retention deletes by them.

use std::time::SystemTime;

use hapax_core::{Clock as _, SystemClock, Timestamp};

use super::check::Check;
use hapax_api::readable;
use hapax_config::StoreUrl;

/// 2026-01-01: a clock that is set never shows a time before this software was written.
const EARLIEST: Timestamp = Timestamp::from_seconds(1_767_225_600);
/// A file from further in the future means that the clock was set back.
const AHEAD_SECONDS_MAX: u64 = 60;

pub(super) fn check(store: Option<&StoreUrl>) -> Check {
    let (name, fix) = ("clock", "set the clock: `timedatectl set-ntp true`");
    let now = SystemClock::default().now();
    if now < EARLIEST {
        return Check::fail(
            name,
            format!("it shows {now}, before this version was built"),
            fix,
        );
    }
    let ahead = store.and_then(written_ahead);
    match ahead {
        Some(ahead) => Check::fail(
            name,
            format!(
                "the store was last written {} in the future: the clock was set back",
                readable::duration(ahead)
            ),
            fix,
        ),
        None => Check::ok(name, now.to_string()),
    }
}

fn written_ahead(store: &StoreUrl) -> Option<std::time::Duration> {
    let StoreUrl::Sqlite(path) = store else {
        return None;
    };
    let modified = std::fs::metadata(path).and_then(|data| data.modified()).ok()?;
    let ahead = modified.duration_since(SystemTime::now()).ok()?;
    (ahead.as_secs() > AHEAD_SECONDS_MAX).then_some(ahead)
}
