//! The results as a table for people; `--json` prints the same and more.

use std::io;

use comfy_table::{CellAlignment, Table, presets};

use hapax_terminal::output;

use super::Results;
use super::figure::{Figure, Standing, Target, Unit};

/// Prints the machine, the table and the problems.
pub fn print(results: &Results) -> io::Result<()> {
    let machine = &results.machine;
    let unknown = || "unknown".to_owned();
    output::line(format_args!(
        "{} cores ({}), {} MiB, Linux {}, {} with {:.0} flushes a second",
        machine.cores,
        machine.processor.clone().unwrap_or_else(unknown),
        machine.memory_mib.map_or_else(unknown, |mib| mib.to_string()),
        machine.kernel.clone().unwrap_or_else(unknown),
        machine.file_system.clone().unwrap_or_else(unknown),
        machine.flushes_per_second,
    ))?;
    if let Some(redis) = &results.redis {
        output::line(redis)?;
    }
    output::line(format_args!(
        "medians of {} rounds of {} s; 1 KiB bodies, a Stripe signature each, random ids; client, service and ceiling share the machine\n",
        results.plan.rounds, results.plan.seconds,
    ))?;
    output::line(table(&results.figures))?;
    for problem in &results.problems {
        output::warning(problem);
    }
    Ok(())
}

fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new();
    // Markdown, so that the output can be pasted into a page.
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["figure", "value", "ratio", "target", "aim", ""]);
    for figure in figures {
        let (target, aim) = wanted(figure.target);
        let ratio = figure
            .ratio
            .map(|ratio| format!("{ratio:.2}"))
            .unwrap_or_default();
        table.add_row([
            figure.name.clone(),
            value(figure),
            ratio,
            target,
            aim,
            standing(figure.standing).to_owned(),
        ]);
    }
    for column in 1..=4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn value(figure: &Figure) -> String {
    match figure.unit {
        Unit::PerSecond => format!("{:.0}/s", figure.value),
        Unit::Milliseconds => format!("{:.2} ms", figure.value),
        Unit::Mebibytes => format!("{:.1} MiB", figure.value),
        Unit::Bytes => format!("{:.0} B", figure.value),
    }
}

fn wanted(target: Option<Target>) -> (String, String) {
    match target {
        Some(Target::RatioAtLeast { floor, aim }) => (format!("≥ {floor:.2}"), format!("{aim:.2}")),
        Some(Target::RatioAtMost(limit)) => (format!("≤ {limit:.2}"), String::new()),
        Some(Target::AtLeast { floor, aim }) => (format!("≥ {floor:.0}"), format!("{aim:.0}")),
        Some(Target::AtMost(limit)) => (format!("≤ {limit}"), String::new()),
        Some(Target::Below(limit)) => (format!("< {limit}"), String::new()),
        None => (String::new(), String::new()),
    }
}

const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::NoTarget => "",
        Standing::Missed => "MISSED",
        Standing::Reached => "reached",
        Standing::AimReached => "aim reached",
    }
}
