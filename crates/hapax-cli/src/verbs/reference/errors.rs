//! The reference of every problem code and exit code.

use std::fmt::Write as _;

use crate::exit::Exit;
use hapax_api::problem::codes::{ADMIN, INGEST};

const EXITS: [(Exit, &str); 6] = [
    (Exit::Done, "done"),
    (Exit::Failed, "failed"),
    (Exit::Usage, "the command line cannot be understood"),
    (Exit::Configuration, "the configuration is missing or wrong"),
    (Exit::NotFound, "what was named does not exist"),
    (Exit::ProblemFound, "a check found a problem"),
];

pub(super) fn page() -> String {
    let mut page = super::heading("Errors", "errors");
    page.push_str(
        "\nProblems are `application/problem+json` (RFC 9457) with a stable `code`; each has a page of its own.\n\n\
         ## Answers to senders\n\n| code | status | |\n|---|---|---|\n",
    );
    push_codes(&mut page, &INGEST);
    page.push_str(
        "\n## Answers of the admin API\n\nBesides those above:\n\n| code | status | |\n|---|---|---|\n",
    );
    push_codes(&mut page, &ADMIN);
    page.push_str("\n## Exit codes\n\n| code | |\n|---|---|\n");
    for (exit, meaning) in EXITS {
        let _ = writeln!(page, "| {} | {meaning} |", exit.code());
    }
    page
}

fn push_codes(page: &mut String, codes: &[(&str, u16, &str)]) {
    for (code, status, meaning) in codes {
        let _ = writeln!(page, "| [`{code}`](../errors/{code}.md) | {status} | {meaning} |");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push(path);
            }
        }
    }

    /// The first string after each `Problem::new(` that looks like a code.
    fn codes_in(source: &str) -> impl Iterator<Item = &str> {
        let calls = source.split("Problem::new(").skip(1);
        let texts = calls.filter_map(|call| call.split(';').next()?.split('"').nth(1));
        texts.filter(|text| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
    }

    #[test]
    fn every_code_that_is_answered_is_on_the_page() {
        let listed: BTreeSet<&str> = INGEST.iter().chain(&ADMIN).map(|(code, ..)| *code).collect();
        assert_eq!(listed.len(), INGEST.len() + ADMIN.len(), "a code is listed twice");
        let mut files = Vec::new();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for answering in ["hapax-admin", "hapax-dashboard", "hapax-ingest", "hapax-listen"] {
            sources(&crates.join(answering).join("src"), &mut files);
        }
        let mut answered = 0;
        for file in files {
            for code in codes_in(&std::fs::read_to_string(&file).unwrap()) {
                answered += 1;
                assert!(
                    listed.contains(code),
                    "{code} of {} is not on the page",
                    file.display()
                );
            }
        }
        assert!(answered > 10, "the source is not where this test looks");
    }

    #[test]
    fn rejections_of_the_verifier_are_on_the_page() {
        let page = page();
        for code in [
            "signature_missing",
            "signature_invalid",
            "timestamp_out_of_range",
            "event_id_missing",
            "malformed_body",
        ] {
            assert!(page.contains(&format!("[`{code}`]")), "{code}");
        }
    }
}
