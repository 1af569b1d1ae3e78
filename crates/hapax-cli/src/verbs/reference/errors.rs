//! The reference of every problem code and exit code.

use std::fmt::Write as _;

use crate::exit::Exit;
use hapax_api::problem::{Code, Port};

const EXITS: [(Exit, &str); 6] = [
    (Exit::Done, "done"),
    (Exit::Failed, "failed"),
    (Exit::Usage, "the command line is invalid"),
    (Exit::Configuration, "the configuration is missing or invalid"),
    (Exit::NotFound, "the named object does not exist"),
    (Exit::ProblemFound, "a check found a problem"),
];

pub(super) fn page() -> String {
    let mut page = super::heading("Errors", "errors");
    page.push_str(
        "\nProblems are `application/problem+json` (RFC 9457) with a stable `code`; each has a page of its own.\n",
    );
    for (port, title, before) in [
        (Port::Ingest, "Answers to senders", ""),
        (
            Port::Admin,
            "Answers of the admin API",
            "Besides those above:\n\n",
        ),
        (
            Port::Library,
            "Answers of a service that uses the library",
            "Besides those to senders:\n\n",
        ),
    ] {
        let _ = write!(
            page,
            "\n## {title}\n\n{before}| code | status | |\n|---|---|---|\n"
        );
        for code in Code::ALL.iter().filter(|code| code.port() == port) {
            let (status, meaning) = (code.status(), code.meaning());
            let _ = writeln!(page, "| [`{code}`](../errors/{code}.md) | {status} | {meaning} |");
        }
    }
    page.push_str("\n## Exit codes\n\n| code | |\n|---|---|\n");
    for (exit, meaning) in EXITS {
        let _ = writeln!(page, "| {} | {meaning} |", exit.code());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_on_the_page_once() {
        let page = page();
        for code in Code::ALL {
            let link = format!("| [`{code}`](../errors/{code}.md) |");
            assert_eq!(page.matches(&link).count(), 1, "{code}");
        }
    }
}
