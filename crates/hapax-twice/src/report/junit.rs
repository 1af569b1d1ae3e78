//! The report as a JUnit file: one test case for each plan and event.

use std::fmt::Write as _;

use super::{PlanOutcome, Report};
use crate::report::change_lines;

/// Formats the report.
pub(super) fn render(report: &Report) -> String {
    let skipped = report
        .results
        .iter()
        .filter(|result| matches!(result.outcome, PlanOutcome::Skipped { .. }));
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        xml,
        "<testsuite name=\"hapax twice\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\">",
        report.results.len(),
        report.failures().count(),
        skipped.count()
    );
    for result in &report.results {
        let (name, class) = (escaped(&result.plan.to_string()), escaped(&result.event));
        let _ = write!(xml, "  <testcase classname=\"{class}\" name=\"{name}\"");
        let _ = match &result.outcome {
            PlanOutcome::Passed { .. } => writeln!(xml, "/>"),
            PlanOutcome::Skipped { reason } => {
                writeln!(xml, "><skipped message=\"{}\"/></testcase>", escaped(reason))
            }
            PlanOutcome::Failed(finding) => {
                let text = [
                    finding.detail.clone(),
                    change_lines(&finding.change).join("\n"),
                    finding.kind.meaning().to_owned(),
                    finding.kind.advice().to_owned(),
                ];
                let (title, text) = (escaped(finding.kind.title()), escaped(&text.join("\n")));
                writeln!(xml, "><failure message=\"{title}\">{text}</failure></testcase>")
            }
        };
    }
    xml.push_str("</testsuite>\n");
    xml
}

/// Escapes text for XML, which allows no control characters except line breaks and tabs.
fn escaped(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => clean.push_str("&amp;"),
            '<' => clean.push_str("&lt;"),
            '>' => clean.push_str("&gt;"),
            '"' => clean.push_str("&quot;"),
            '\n' | '\t' => clean.push(character),
            character if character.is_control() => clean.push('\u{fffd}'),
            character => clean.push(character),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use crate::finding::{Finding, FindingKind};
    use crate::plan::Plan;
    use crate::report::PlanResult;

    use super::*;

    #[test]
    fn a_fault_is_a_failure_and_its_text_is_escaped() {
        let result = |plan, verdict| PlanResult {
            plan,
            event: "pay <1>".to_owned(),
            outcome: verdict,
        };
        let report = Report {
            provider: "stripe".to_owned(),
            events: vec![],
            results: vec![
                result(Plan::Again, PlanOutcome::Passed { note: None }),
                result(
                    Plan::Stale,
                    PlanOutcome::Skipped {
                        reason: "no time".to_owned(),
                    },
                ),
                result(
                    Plan::Slow,
                    PlanOutcome::Failed(Finding::new(FindingKind::Doubled, "a & b\u{7}")),
                ),
            ],
        };
        let xml = render(&report);
        assert!(xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{xml}");
        assert!(
            xml.contains("classname=\"pay &lt;1&gt;\" name=\"again\"/>"),
            "{xml}"
        );
        assert!(xml.contains("a &amp; b\u{fffd}"), "{xml}");
    }
}
