//! The registry of fail points is authoritative: the code and the page about the promises agree with it.

use std::collections::BTreeSet;
use std::path::Path;

use hapax_fail_points::ALL;

#[test]
fn every_fail_point_of_the_registry_is_in_the_code_and_no_other_is() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        gather(&entry.unwrap().path().join("src"), &mut found);
    }
    let registered: BTreeSet<String> = ALL.iter().map(|point| point.name.to_owned()).collect();
    assert_eq!(found, registered);
}

#[test]
fn every_fail_point_is_in_the_page_about_the_promises_with_what_it_leaves() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/GUARANTEES.md");
    let page = std::fs::read_to_string(page).unwrap();
    for point in ALL {
        let line = format!("| `{}` | {} |", point.name, point.leaves);
        assert!(
            page.contains(&line),
            "docs/GUARANTEES.md lacks this line:\n{line}"
        );
    }
}

/// Collects the names in every file below a folder.
fn gather(folder: &Path, found: &mut BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            gather(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let uses = text.split("fail_point!(\"").skip(1);
            found.extend(uses.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        }
    }
}
