//! How much processor time a process has used, as Linux counts it.

use std::time::Duration;

/// In `/proc`, Linux always reports hundredths of a second, whatever the kernel's own tick rate.
const TICKS_PER_SECOND: u64 = 100;
/// The positions of user and kernel time, counted after the name in brackets.
const USER: usize = 11;
const SYSTEM: usize = 12;

/// The processor time of a running process; `None` if the system does not report it.
pub(crate) fn processor_time(pid: u32) -> Option<Duration> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(stat: &str) -> Option<Duration> {
    // The name may contain anything, including brackets and spaces.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some(Duration::from_millis(
        (field(USER)? + field(SYSTEM)?) * 1_000 / TICKS_PER_SECOND,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_found_behind_any_name() {
        let stat = "42 (a) b) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 4 0 1000 1 1";
        assert_eq!(parse(stat), Some(Duration::from_secs(2)));
        assert_eq!(parse("nothing"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_taken_some() {
        assert!(processor_time(std::process::id()).is_some());
    }
}
