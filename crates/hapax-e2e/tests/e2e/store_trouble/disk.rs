//! A small separate disk, if the machine allows mounting one.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A mounted tmpfs; unmounted when dropped.
pub(super) struct Disk {
    directory: TempDir,
}

impl Disk {
    /// `None` if mounting is not allowed.
    pub(super) fn mount(size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = mount(
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"],
            directory.path(),
        );
        mounted.then_some(Self { directory })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(super) fn make_read_only(&self) {
        assert!(
            mount(&["-o", "remount,ro", "tmpfs"], self.path()),
            "the disk could not be made read-only"
        );
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: the service may still be running, and a failed test must not leave a mount behind.
        let unmounted = Command::new("umount").arg("--lazy").arg(self.path()).status();
        assert!(
            unmounted.is_ok_and(|status| status.success()) || std::thread::panicking(),
            "a mount stays behind"
        );
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    let output = Command::new("mount").args(arguments).arg(at).output();
    output.is_ok_and(|output| output.status.success())
}
