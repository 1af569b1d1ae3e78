//! Facts about the machine, printed with every figure: without them a number means little.

use std::fs::OpenOptions;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::workspace;

const PROBE_FOR: Duration = Duration::from_secs(1);
const PROBE_BYTES: usize = 4096;

/// What a reader needs in order to compare figures.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Processor cores that this process may use.
    pub cores: usize,
    /// The processor's model name.
    pub processor: Option<String>,
    pub memory_mib: Option<u64>,
    pub kernel: Option<String>,
    /// The file system that holds the store.
    pub file_system: Option<String>,
    /// Flushes of a 4 KiB write to the store's folder per second, one after the other.
    pub flushes_per_second: f64,
}

impl Machine {
    /// Reads the facts, and probes the disk for a second.
    pub fn probe(folder: &Path) -> io::Result<Self> {
        let read = |path| std::fs::read_to_string(path).ok();
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: read("/proc/cpuinfo").and_then(|text| field(&text, "model name")),
            memory_mib: read("/proc/meminfo").and_then(|text| memory_mib(&text)),
            kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
            file_system: workspace::file_system(folder),
            flushes_per_second: flushes_per_second(folder)?,
        })
    }
}

fn flushes_per_second(folder: &Path) -> io::Result<f64> {
    let path = folder.join("flush-probe");
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&path)?;
    let block = [0x5a; PROBE_BYTES];
    let started = Instant::now();
    let mut count = 0_u32;
    while started.elapsed() < PROBE_FOR {
        file.rewind()?;
        file.write_all(&block)?;
        file.sync_data()?;
        count += 1;
    }
    let rate = f64::from(count) / started.elapsed().as_secs_f64();
    drop(file);
    std::fs::remove_file(path)?;
    Ok(rate)
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

fn memory_mib(text: &str) -> Option<u64> {
    let kib: u64 = field(text, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_leaves_nothing_behind_and_finds_a_rate() {
        let folder = tempfile::tempdir().unwrap();
        assert!(flushes_per_second(folder.path()).unwrap() > 0.0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn facts_are_read_from_the_kernels_texts() {
        assert_eq!(
            field("processor\t: 0\nmodel name\t: X 1\n", "model name").as_deref(),
            Some("X 1")
        );
        assert_eq!(memory_mib("MemTotal:       2048 kB\n"), Some(2));
    }
}
