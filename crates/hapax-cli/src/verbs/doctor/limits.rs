//! Whether the process may open enough files: every connection needs one.

use rustix::process::{Resource, getrlimit};

use super::check::Check;

/// Below this, even a small burst is refused. Ten thousand idle connections would need more.
const FILES_MIN: u64 = 4_096;

pub(super) fn files() -> Check {
    let name = "open files";
    match getrlimit(Resource::Nofile).current {
        None => Check::ok(name, "no limit"),
        Some(limit) if limit >= FILES_MIN => Check::ok(name, format!("{limit} allowed")),
        Some(limit) => Check::warn(
            name,
            format!("only {limit} are allowed in this shell; every connection needs one"),
            "`ulimit -n 65536`, or LimitNOFILE=65536 in the systemd unit",
        ),
    }
}
