//! The report for people: a table, and for each fault what changed, what it means and what to do.

use std::fmt;

use super::{PlanOutcome, PlanResult, Report};
use crate::effect::Change;
use crate::finding::Finding;

/// Further lines of a change are counted but not shown.
const LINES_MAX: usize = 20;

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(formatter)?;
        for event in self.events.iter().filter(|event| event.change.is_empty()) {
            writeln!(
                formatter,
                "\n{}: one delivery changes nothing in the snapshot.",
                event.name
            )?;
        }
        for (result, finding) in self.failures() {
            self.explain(formatter, result, finding)?;
        }
        let (failed, all) = (self.failures().count(), self.results.len());
        match failed {
            0 => write!(formatter, "\nNo fault found in {all} tries."),
            _ => write!(formatter, "\n{failed} of {all} tries found a fault."),
        }
    }
}

impl Report {
    fn table(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width =
            |header: &str, texts: &mut dyn Iterator<Item = usize>| texts.fold(header.len(), usize::max);
        let plans = width(
            "PLAN",
            &mut self.results.iter().map(|result| result.plan.to_string().len()),
        );
        let events = width(
            "EVENT",
            &mut self.results.iter().map(|result| result.event.chars().count()),
        );
        writeln!(formatter, "{:plans$}  {:events$}  RESULT", "PLAN", "EVENT")?;
        for result in &self.results {
            let (word, remark) = match &result.outcome {
                PlanOutcome::Passed { note } => ("passed", note.as_deref().unwrap_or_default()),
                PlanOutcome::Failed(finding) => ("FAILED", finding.kind.title()),
                PlanOutcome::Skipped { reason } => ("skipped", reason.as_str()),
            };
            let line = format!(
                "{:plans$}  {:events$}  {word:7}  {remark}",
                result.plan.to_string(),
                result.event
            );
            writeln!(formatter, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn explain(
        &self,
        formatter: &mut fmt::Formatter<'_>,
        result: &PlanResult,
        finding: &Finding,
    ) -> fmt::Result {
        writeln!(
            formatter,
            "\n{}, {}: {}",
            result.plan,
            result.event,
            finding.kind.title()
        )?;
        writeln!(formatter, "  When: {}.", finding.detail)?;
        if let Some(event) = self.events.iter().find(|event| event.name == result.event) {
            writeln!(formatter, "  One delivery changes:")?;
            lines(formatter, &event.change)?;
        }
        writeln!(formatter, "  Here this changed:")?;
        lines(formatter, &finding.change)?;
        writeln!(formatter, "  It means: {}", finding.kind.meaning())?;
        writeln!(formatter, "  To do: {}", finding.kind.advice())
    }
}

/// A change as the lines of a diff. A line that occurs several times is shown once, with its count.
pub(crate) fn change_lines(change: &Change) -> Vec<String> {
    let mut lines = counted('-', &change.removed);
    lines.extend(counted('+', &change.added));
    lines
}

fn counted(sign: char, lines: &[String]) -> Vec<String> {
    let groups = lines.chunk_by(|one, other| one == other);
    let shown = groups.map(|group| match group.len() {
        1 => format!("    {sign} {}", group[0]),
        count => format!("    {sign} {}  ({count} times)", group[0]),
    });
    shown.collect()
}

fn lines(formatter: &mut fmt::Formatter<'_>, change: &Change) -> fmt::Result {
    let lines = change_lines(change);
    if lines.is_empty() {
        return writeln!(formatter, "    (nothing)");
    }
    for line in lines.iter().take(LINES_MAX) {
        writeln!(formatter, "{line}")?;
    }
    match lines.len().saturating_sub(LINES_MAX) {
        0 => Ok(()),
        more => writeln!(formatter, "    and {more} more lines"),
    }
}
