//! Every problem code is in the reference and in `hapax explain`, and is written nowhere else in the source.

use std::path::{Path, PathBuf};

use hapax_core::problem::Code;
use hapax_testkit::run;

#[tokio::test]
async fn the_reference_and_explain_know_exactly_the_codes() {
    let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    codes.sort_unstable();
    let reference = run(&workspace(), &["reference", "errors"]).await;
    reference.assert_code(0);
    let links = reference
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("| [`"));
    let mut documented: Vec<&str> = links.filter_map(|rest| rest.split('`').next()).collect();
    documented.sort_unstable();
    assert_eq!(documented, codes);
    let listed = run(&workspace(), &["explain", "--json"]).await.json();
    let listed = listed["codes"].as_array().unwrap();
    let mut listed: Vec<&str> = listed.iter().filter_map(|line| line["code"].as_str()).collect();
    listed.sort_unstable();
    assert_eq!(listed, codes);
}

#[test]
fn what_answers_names_codes_by_the_enum_and_not_by_text() {
    let sources = sources();
    assert!(sources.len() > 100, "the source is not where this test looks");
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for code in Code::ALL {
            let literal = format!("\"{code}\"");
            assert!(!product.contains(&literal), "{literal} in {}", path.display());
        }
    }
}

#[tokio::test]
async fn every_path_of_the_admin_api_is_in_its_reference() {
    let document = run(&workspace(), &["print", "openapi"]).await.json();
    let reference = std::fs::read_to_string(workspace().join("docs/reference/api.md")).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 25, "{paths:?}");
    for path in paths.keys() {
        assert!(
            reference.contains(&format!("{path}`")),
            "docs/reference/api.md lacks {path}"
        );
    }
}

/// The source files that answer requests or count answers.
fn sources() -> Vec<PathBuf> {
    let answering = [
        "hapax",
        "hapax-admin",
        "hapax-alerts",
        "hapax-dashboard",
        "hapax-ingest",
        "hapax-listen",
        "hapax-telemetry",
    ];
    let mut folders = answering
        .map(|name| workspace().join("crates").join(name).join("src"))
        .to_vec();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_none_or(|name| name != "tests.rs") {
                found.push(path);
            }
        }
    }
    found
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
