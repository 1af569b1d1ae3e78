//! Which release a process is: this one, or the one before it, which `./test upgrade` builds from the history.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::world::Replica;

/// Where the previous release is installed, a file with the lines of the configuration that it does not know, for grep.
pub(super) const UNKNOWN_KEYS: &str = "unknown-keys";
/// An operator adds these with the upgrade.
const NEW_KEYS: &str = "^allow_targets = ";

/// A binary.
#[derive(Clone, Copy)]
pub(super) enum Release {
    This,
    /// The one that `.config/previous-release` names.
    Previous,
}

impl Release {
    /// Installs it in a service's directory, in the place of any other; it runs from the next start on.
    pub(super) fn install(self, directory: &Path) {
        let (place, new) = (directory.join("hapax"), directory.join("hapax.new"));
        symlink(self.binary(), &new).unwrap();
        std::fs::rename(new, place).unwrap();
        let unknown = directory.join(UNKNOWN_KEYS);
        match self {
            Self::This => drop(std::fs::remove_file(unknown)),
            Self::Previous => std::fs::write(unknown, NEW_KEYS).unwrap(),
        }
    }

    fn binary(self) -> PathBuf {
        let binary = match self {
            Self::This => hapax_testkit::binary(),
            Self::Previous => Path::new(env!("CARGO_TARGET_TMPDIR")).join("../previous/hapax"),
        };
        let found = binary.canonicalize();
        found.unwrap_or_else(|error| panic!("{}: {error}; `./test upgrade` builds it", binary.display()))
    }
}

impl Replica {
    /// Starts what has ended, as this release.
    pub(super) async fn start_as(&mut self, release: Release) {
        release.install(self.service.setup.path());
        self.service.start_again().await;
    }
}
