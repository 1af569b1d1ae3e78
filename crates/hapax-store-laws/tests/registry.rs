//! The registry lists every law: none can be left out of a store's run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_law_that_is_written_is_in_the_registry() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/laws");
    let mut written = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let topic = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for line in fs::read_to_string(&path).unwrap().lines() {
            if let Some(rest) = line.strip_prefix("pub async fn ") {
                let law = rest.split('(').next().unwrap();
                written.insert(format!("{topic}::{law}"));
            }
        }
    }
    let registered: BTreeSet<String> = hapax_store_laws::LAWS
        .iter()
        .flat_map(|(topic, laws)| laws.iter().map(move |law| format!("{topic}::{law}")))
        .collect();
    assert_eq!(written, registered);
    assert!(registered.len() > 100, "laws were read");
}

#[test]
fn no_law_is_listed_twice() {
    let mut seen = BTreeSet::new();
    for law in hapax_store_laws::LAWS.iter().flat_map(|(_, laws)| laws.iter()) {
        assert!(seen.insert(law), "{law} is listed twice");
    }
}
