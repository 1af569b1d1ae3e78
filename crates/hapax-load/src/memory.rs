//! How much memory a process uses, as Linux counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Memory of a process at one moment, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// All pages that are in memory, including those of mapped files.
    pub resident_kib: u64,
    /// Pages that belong to no file: the process's own allocations.
    pub anonymous_kib: u64,
}

impl Memory {
    /// The memory of a running process; `None` if the system does not report it.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
    }

    /// The number of open files, sockets and the like of a running process.
    pub(crate) fn descriptors_of(pid: u32) -> Option<u64> {
        Some(std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64)
    }

    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().strip_suffix("kB")?.trim().parse().ok()
        };
        Some(Self {
            resident_kib: field("VmRSS:")?,
            anonymous_kib: field("RssAnon:")?,
        })
    }
}

/// Watches a process and remembers its peaks.
pub(crate) struct Watch {
    resident_kib: Arc<AtomicU64>,
    anonymous_kib: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Watch {
    /// Starts watching, ten times per second.
    pub(crate) fn start(pid: u32) -> Self {
        let resident_kib = Arc::new(AtomicU64::new(0));
        let anonymous_kib = Arc::new(AtomicU64::new(0));
        let (resident, anonymous) = (Arc::clone(&resident_kib), Arc::clone(&anonymous_kib));
        let task = tokio::spawn(async move {
            let mut tick = tokio::time::interval(SAMPLE_EVERY);
            loop {
                tick.tick().await;
                let Some(memory) = Memory::of(pid) else { break };
                resident.fetch_max(memory.resident_kib, Ordering::Relaxed);
                anonymous.fetch_max(memory.anonymous_kib, Ordering::Relaxed);
            }
        });
        Self {
            resident_kib,
            anonymous_kib,
            task,
        }
    }

    pub(crate) fn peak(&self) -> Memory {
        Memory {
            resident_kib: self.resident_kib.load(Ordering::Relaxed),
            anonymous_kib: self.anonymous_kib.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_text_is_read() {
        let text = "Name:\thapax\nVmRSS:\t   20480 kB\nRssAnon:\t    1024 kB\nRssFile:\t 19456 kB\n";
        assert_eq!(
            Memory::parse(text),
            Some(Memory {
                resident_kib: 20480,
                anonymous_kib: 1024
            })
        );
        assert_eq!(Memory::parse("Name:\tkthreadd\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory() {
        let memory = Memory::of(std::process::id()).unwrap();
        assert!(memory.resident_kib >= memory.anonymous_kib && memory.anonymous_kib > 0);
    }
}
