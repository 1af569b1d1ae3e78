//! Finds a program as the system would.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use hapax_config::Environment;

pub(super) fn find(program: &str) -> Option<PathBuf> {
    let runs = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| runs(path));
    }
    let environment = Environment::of_process();
    std::env::split_paths(environment.value("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| runs(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_path_and_by_name() {
        assert!(find("sh").is_some());
        assert!(find("/bin/sh").is_some());
        assert!(find("./no-such-program").is_none());
        assert!(find("no-such-program-anywhere").is_none());
    }
}
