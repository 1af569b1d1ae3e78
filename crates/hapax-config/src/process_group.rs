//! The process group of a command: killed whole, so that what the command started does not outlive it.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// A group that is killed when dropped, unless the command ended by itself.
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

    /// The command has ended and was waited for: its number may belong to another process by now.
    pub fn ended(mut self) {
        self.leader = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // It fails only if the group is gone already.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
