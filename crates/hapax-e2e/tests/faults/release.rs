//! The release of a process: this one, or the previous one, which `./test upgrade` builds from the history.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::world::Replica;

/// Next to the previous release, a file with patterns (for grep) of the configuration lines that it does not know.
pub(super) const UNKNOWN_KEYS: &str = "unknown-keys";
/// An operator adds these with the upgrade.
const NEW_KEYS: &str = "^allow_targets = ";

#[derive(Clone, Copy)]
pub(super) enum Release {
    This,
    /// The one that `.config/previous-release` names.
    Previous,
}

impl Release {
    /// Installs it in a service's directory, replacing any other; it runs from the next start on.
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
    /// Starts a stopped replica as this release.
    pub(super) async fn start_as(&mut self, release: Release) {
        release.install(self.service.setup.path());
        self.service.start_again().await;
    }
}
