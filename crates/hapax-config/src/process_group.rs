//! A command's process group. It is killed as a whole, so that no process that the command started outlives it.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// A group that is killed on drop, unless the command has already ended.
#[derive(Debug)]
pub struct Group {
    leader: Option<Pid>,
}

impl Group {
    pub fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            leader: id.and_then(Pid::from_raw),
        }
    }

    /// The command has ended and was waited for, so its process id may already belong to another process.
    pub fn ended(mut self) {
        self.leader = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // This fails only if the group no longer exists.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
