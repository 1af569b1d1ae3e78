//! The limit on open files: every connection is one, and the usual soft limit of 1,024 is soon reached.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the process needs in addition to its connections: the store, destinations, logs.
const OTHER_FILES: u64 = 1024;
/// The highest limit that is ever requested: the kernel keeps a table of this size.
const FILES_MAX: u64 = 65_536;

/// Raises the limit as far as the system allows, and returns how many of `wanted` connections fit.
pub(super) fn connections_max(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(FILES_MAX).min(FILES_MAX);
    let mut soft = limit.current.unwrap_or(FILES_MAX);
    if soft < hard {
        let raised = Rlimit {
            current: Some(hard),
            maximum: limit.maximum,
        };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => soft = hard,
            Err(error) => tracing::warn!(%error, soft, "the open-file limit could not be raised"),
        }
    }
    let room = soft.saturating_sub(OTHER_FILES).max(soft / 2);
    wanted.min(usize::try_from(room).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_some_connections_and_never_more_than_wanted() {
        let connections = connections_max(100);
        assert!((1..=100).contains(&connections));
    }
}
