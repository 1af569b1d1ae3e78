//! The working folder of a run: on a real disk, and removed afterwards unless it is kept.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

/// File systems in memory: a flush to them costs nothing, so a figure taken there means nothing.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// A folder that is removed with its handle, unless kept.
pub struct Workspace {
    folder: Folder,
}

enum Folder {
    Temporary(TempDir),
    Kept(PathBuf),
}

/// What happens to a workspace after the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    Remove,
    Keep,
}

impl Workspace {
    /// A new folder inside `parent`.
    pub fn create(parent: &Path, afterwards: Afterwards) -> anyhow::Result<Self> {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("the folder {} could not be created", parent.display()))?;
        let folder = tempfile::Builder::new()
            .prefix("hapax-")
            .tempdir_in(parent)
            .with_context(|| format!("no folder could be created in {}", parent.display()))?;
        let folder = match afterwards {
            Afterwards::Remove => Folder::Temporary(folder),
            Afterwards::Keep => Folder::Kept(folder.keep()),
        };
        Ok(Self { folder })
    }

    pub const fn afterwards(&self) -> Afterwards {
        match self.folder {
            Folder::Temporary(_) => Afterwards::Remove,
            Folder::Kept(_) => Afterwards::Keep,
        }
    }

    pub fn path(&self) -> &Path {
        match &self.folder {
            Folder::Temporary(folder) => folder.path(),
            Folder::Kept(path) => path,
        }
    }
}

/// The default folder for measurements: the system's folder for temporary files, or the current one if that is in
/// memory.
pub fn disk_folder() -> PathBuf {
    let folder = std::env::temp_dir();
    if is_in_memory(&folder) {
        PathBuf::from(".")
    } else {
        folder
    }
}

/// Whether a flush to this folder reaches no disk.
pub fn is_in_memory(folder: &Path) -> bool {
    file_system(folder).is_some_and(|name| IN_MEMORY.contains(&name.as_str()))
}

/// The kind of file system that holds a folder; `None` if the system does not report it.
pub(crate) fn file_system(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    file_system_in(&std::fs::read_to_string("/proc/self/mounts").ok()?, &folder)
}

fn file_system_in(mounts: &str, folder: &Path) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (_, place, kind) = (words.next()?, words.next()?, words.next()?);
            folder.starts_with(place).then_some((place.len(), kind))
        })
        // Of two mounts at the same path, the later one covers the earlier.
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "/dev/sda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/sdb /tmp/disk xfs rw 0 0\n";

    #[test]
    fn the_innermost_mount_counts() {
        let kind = |path| file_system_in(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(kind("/home/x"), "ext4");
        assert_eq!(kind("/tmp/x"), "tmpfs");
        assert_eq!(kind("/tmp/disk/x"), "xfs");
        assert_eq!(kind("/tmpfoo"), "ext4");
    }

    #[test]
    fn a_workspace_goes_unless_it_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let removed = Workspace::create(parent.path(), Afterwards::Remove).unwrap();
        let kept = Workspace::create(parent.path(), Afterwards::Keep).unwrap();
        let (removed_path, kept_path) = (removed.path().to_owned(), kept.path().to_owned());
        drop((removed, kept));
        assert!(!removed_path.exists());
        assert!(kept_path.exists());
    }
}
