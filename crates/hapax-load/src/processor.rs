//! How much processor time processes have used, as Linux counts it.

use std::collections::BTreeMap;
use std::time::Duration;

/// In `/proc`, Linux always reports hundredths of a second, whatever the kernel's own tick rate.
const TICKS_PER_SECOND: u64 = 100;
/// Positions of fields, counted after the name in brackets.
const PARENT: usize = 1;
const USER: usize = 11;
const SYSTEM: usize = 12;
const ENDED_USER: usize = 13;
const ENDED_SYSTEM: usize = 14;
const STARTED: usize = 19;

/// The processor time of a running process; `None` if the system does not report it.
pub(crate) fn processor_time(pid: u32) -> Option<Duration> {
    stat(pid).map(|stat| stat.own)
}

/// The name of a running process's program.
pub(crate) fn name(pid: u32) -> Option<String> {
    stat(pid).map(|stat| stat.name)
}

/// The process that started a running process.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    stat(pid).map(|stat| stat.parent)
}

/// When a running process was started, since the Unix epoch.
pub(crate) fn started_at(pid: u32) -> Option<Duration> {
    let booted_at = boot_time(&std::fs::read_to_string("/proc/stat").ok()?)?;
    Some(booted_at + stat(pid)?.started_after_boot)
}

/// A process and everything below it, such as a database server with a process for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    root: u32,
    /// Distinguishes the process from a later one with the same number.
    started_after_boot: Duration,
}

impl Tree {
    /// The tree below a running process.
    pub(crate) fn of(root: u32) -> Option<Self> {
        let started_after_boot = stat(root)?.started_after_boot;
        Some(Self {
            root,
            started_after_boot,
        })
    }

    /// The processor time of all its processes, those that have ended included; `None` once the root has ended.
    pub(crate) fn processor_time(self) -> Option<Duration> {
        let processes = processes();
        let root = processes.get(&self.root)?;
        (root.started_after_boot == self.started_after_boot).then(|| sum(self.root, &processes))
    }
}

/// What the kernel reports of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stat {
    name: String,
    parent: u32,
    own: Duration,
    /// The time of its children that have ended, and of theirs.
    ended_children: Duration,
    started_after_boot: Duration,
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// All processes that run now.
fn processes() -> BTreeMap<u32, Stat> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // One that ended since it was listed is counted by its parent.
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

/// The time of a child moves to its parent when it ends, so the sum over the tree never shrinks.
fn sum(root: u32, processes: &BTreeMap<u32, Stat>) -> Duration {
    let below = processes
        .iter()
        .filter(|(pid, _)| is_below(**pid, root, processes));
    below.map(|(_, stat)| stat.own + stat.ended_children).sum()
}

fn is_below(pid: u32, root: u32, processes: &BTreeMap<u32, Stat>) -> bool {
    let parents = std::iter::successors(Some(pid), |pid| processes.get(pid).map(|stat| stat.parent));
    // The list was read while processes came and went, so nothing guarantees that it has no loop.
    parents.take(processes.len() + 1).any(|pid| pid == root)
}

fn parse(stat: &str) -> Option<Stat> {
    // The name may contain anything, including brackets and spaces.
    let (before, rest) = stat.rsplit_once(") ")?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |place: usize| fields.get(place)?.parse::<u64>().ok();
    let time = |place: usize| Some(Duration::from_millis(field(place)? * 1_000 / TICKS_PER_SECOND));
    Some(Stat {
        name: name.to_owned(),
        parent: u32::try_from(field(PARENT)?).ok()?,
        own: time(USER)? + time(SYSTEM)?,
        ended_children: time(ENDED_USER)? + time(ENDED_SYSTEM)?,
        started_after_boot: time(STARTED)?,
    })
}

/// When the machine was booted, since the Unix epoch.
fn boot_time(text: &str) -> Option<Duration> {
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_any_name() {
        let stat = "42 (a) b) S 7 42 42 0 -1 4194560 100 0 0 0 150 50 30 20 20 0 4 0 1000 1 1";
        let expected = Stat {
            name: "a) b".to_owned(),
            parent: 7,
            own: Duration::from_secs(2),
            ended_children: Duration::from_millis(500),
            started_after_boot: Duration::from_secs(10),
        };
        assert_eq!(parse(stat), Some(expected));
        assert_eq!(parse("nothing"), None);
    }

    #[test]
    fn the_boot_time_is_read_from_the_kernels_text() {
        let text = "cpu  1 2 3\nbtime 1767225598\nprocesses 9\n";
        assert_eq!(boot_time(text), Some(Duration::from_secs(1_767_225_598)));
        assert_eq!(boot_time("cpu 1\n"), None);
    }

    #[test]
    fn a_tree_counts_what_is_below_its_root_and_what_has_ended_there() {
        let process = |parent, own, ended| Stat {
            name: "postgres".to_owned(),
            parent,
            own: Duration::from_secs(own),
            ended_children: Duration::from_secs(ended),
            started_after_boot: Duration::ZERO,
        };
        let processes = BTreeMap::from([
            (1, process(0, 1_000, 1_000)),
            (10, process(1, 1, 20)),
            (11, process(10, 3, 0)),
            (12, process(11, 5, 0)),
            (13, process(1, 100, 0)),
            // A process whose parent has ended and is not in the list.
            (14, process(99, 100, 0)),
        ]);
        assert_eq!(sum(10, &processes), Duration::from_secs(29));
    }

    #[test]
    fn a_loop_of_parents_is_not_followed_for_ever() {
        let process = |parent| Stat {
            name: String::new(),
            parent,
            own: Duration::from_secs(1),
            ended_children: Duration::ZERO,
            started_after_boot: Duration::ZERO,
        };
        let processes = BTreeMap::from([(2, process(3)), (3, process(2))]);
        assert_eq!(sum(1, &processes), Duration::ZERO);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_a_time_a_parent_and_a_start_in_the_past() {
        let pid = std::process::id();
        assert!(processor_time(pid).is_some() && name(pid).is_some());
        assert_eq!(parent(pid), Some(std::os::unix::process::parent_id()));
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        // The boot time is rounded to a second.
        assert!(started_at(pid).unwrap() <= now + Duration::from_secs(2));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_of_a_child_stays_in_its_tree_after_its_end() {
        let tree = Tree::of(std::process::id()).unwrap();
        let before = tree.processor_time().unwrap();
        let mut child = std::process::Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"])
            .spawn()
            .unwrap();
        child.wait().unwrap();
        assert!(tree.processor_time().unwrap() > before);
        let ended = Tree::of(child.id()).and_then(Tree::processor_time);
        assert_eq!(ended, None);
    }
}
