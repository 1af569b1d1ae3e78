//! Every test that docs/GUARANTEES.md names for a promise exists.
#![allow(clippy::unwrap_used)] // What reads the files is test code, too.

use std::path::Path;

/// A Rust file: the folders and modules that lead to it, and its text.
struct Source {
    way: Vec<String>,
    text: String,
}

#[test]
fn every_test_that_a_promise_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/GUARANTEES.md")).unwrap();
    let (promises, _) = page.split_once("## How it is searched for faults").unwrap();
    let mut sources = Vec::new();
    for folder in ["crates", "examples"] {
        gather(&root.join(folder), &[], &mut sources);
    }
    let rows = promises.lines().filter(|line| line.starts_with("| "));
    let held_by = rows.filter_map(|row| row.rsplit('|').nth(1));
    let names: Vec<&str> = held_by
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        // Names with a space are commands or settings.
        .filter(|name| !name.contains(' '))
        .collect();
    assert!(names.len() > 100, "{names:?}");
    let is_missing = |name: &&&str| !is_path(&root, name) && !sources.iter().any(|source| source.has(name));
    let missing: Vec<&&str> = names.iter().filter(is_missing).collect();
    assert!(
        missing.is_empty(),
        "no test, module or rule has these names: {missing:?}"
    );
}

fn gather(folder: &Path, way: &[String], sources: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let way = [way, &[name]].concat();
        if path.is_dir() {
            gather(&path, &way, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            sources.push(Source { way, text });
        }
    }
}

fn is_path(root: &Path, name: &str) -> bool {
    name.contains('/') && (root.join(name).exists() || root.join("crates").join(name).exists())
}

impl Source {
    /// Whether this is the file of `module::test`, of `module::*`, or of a rule of the simulator. `…` stands for the
    /// rest of a name.
    fn has(&self, name: &str) -> bool {
        let (modules, last) = name.rsplit_once("::").unwrap_or(("", name));
        let mut modules = modules.split("::").filter(|module| !module.is_empty());
        modules.all(|module| self.is_in(module)) && (last == "*" || self.is_in(last) || self.defines(last))
    }

    fn is_in(&self, module: &str) -> bool {
        self.way.iter().any(|part| part == module)
    }

    fn defines(&self, name: &str) -> bool {
        if name.starts_with(char::is_uppercase) {
            return self.is_in("hapax-sim")
                && self.is_in("rule")
                && self.text.contains(&format!("Self::{name},"));
        }
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
        let mut functions = self.text.split("fn ").skip(1).map(|rest| {
            let end = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
            &rest[..end]
        });
        match (name.strip_prefix('…'), name.strip_suffix('…')) {
            (Some(end), _) => functions.any(|function| function.ends_with(end)),
            (None, Some(start)) => functions.any(|function| function.starts_with(start)),
            (None, None) => functions.any(|function| function == name),
        }
    }
}
