//! Each code that the binary can answer is in its reference and has a page that says what to do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hapax_testkit::run;

#[tokio::test]
async fn every_code_of_a_problem_is_in_the_reference_and_has_a_page_of_its_own() {
    let answered: BTreeSet<String> = sources().iter().flat_map(|path| codes_in(path)).collect();
    assert!(
        answered.contains("signature_missing") && answered.contains("event_not_found"),
        "{answered:?}"
    );
    let reference = run(&workspace(), &["reference", "errors"]).await;
    reference.assert_code(0);
    let documented: BTreeSet<String> = reference
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("| [`")?.split('`').next().map(str::to_owned))
        .collect();
    let missing: Vec<_> = answered.difference(&documented).collect();
    assert!(
        missing.is_empty(),
        "codes that `hapax reference errors` does not know: {missing:?}"
    );
    for code in &documented {
        let page = format!("docs/errors/{code}.md");
        let text = std::fs::read_to_string(workspace().join(&page)).unwrap_or_default();
        assert!(
            text.starts_with(&format!("# {code}\n"))
                && text.contains("## Why")
                && text.contains("## What to do"),
            "{page} is missing or does not say why and what to do"
        );
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

/// The source files that create problem documents.
fn sources() -> Vec<PathBuf> {
    let mut found = vec![workspace().join("crates/hapax-verify/src/rejection.rs")];
    let answering = ["hapax-admin", "hapax-dashboard", "hapax-ingest", "hapax-listen"];
    let mut folders = answering
        .map(|name| workspace().join("crates").join(name).join("src"))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(&path).unwrap().contains("Problem") {
                found.push(path);
            }
        }
    }
    found
}

/// String literals outside the tests that look like a code: lower-case words joined by `_`.
fn codes_in(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let is_code = |piece: &&str| {
        piece.contains('_')
            && piece
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    product.split('"').filter(is_code).map(str::to_owned).collect()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
