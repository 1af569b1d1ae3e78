//! The results as a table for people; `--json` prints the same and more.

use std::io;

use comfy_table::{CellAlignment, Table, presets};

use hapax_terminal::output;

use super::Results;
use super::figure::{Figure, Standing, Target, Unit};

/// The column that only a store with servers has.
const DATABASE: usize = 3;

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
        "medians of {} rounds of {} s; 1 KiB bodies, a Stripe signature each, random ids; client, service and ceiling share the machine",
        results.plan.rounds, results.plan.seconds,
    ))?;
    output::line(
        "CPU µs: processor time per event of the service, or of the ceiling; database µs: of all processes of the \
         database servers\n",
    )?;
    output::line(table(&results.figures))?;
    for note in &results.notes {
        output::note(note);
    }
    for problem in &results.problems {
        output::warning(problem);
    }
    Ok(())
}

fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new();
    // Markdown, so that the output can be pasted into a page.
    table.load_style(presets::ASCII_MARKDOWN);
    // A file has no server whose time could be shown.
    let is_left_out = |column: usize| {
        column == DATABASE
            && figures
                .iter()
                .all(|figure| figure.processor_us.database.is_none())
    };
    let shown = |row: [String; 8]| -> Vec<String> {
        let cells = row.into_iter().enumerate();
        cells
            .filter(|(column, _)| !is_left_out(*column))
            .map(|(_, cell)| cell)
            .collect()
    };
    let header = [
        "figure",
        "value",
        "CPU µs",
        "database µs",
        "ratio",
        "target",
        "aim",
        "",
    ];
    table.set_header(shown(header.map(str::to_owned)));
    for figure in figures {
        let (target, aim) = wanted(figure.target);
        let ratio = figure
            .ratio
            .map(|ratio| format!("{ratio:.2}"))
            .unwrap_or_default();
        let row = [
            figure.name.clone(),
            value(figure),
            microseconds(figure.processor_us.service),
            microseconds(figure.processor_us.database),
            ratio,
            target,
            aim,
            standing(figure.standing).to_owned(),
        ];
        table.add_row(shown(row));
    }
    let last = table.column_count().saturating_sub(1);
    for column in 1..last {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

pub(super) fn microseconds(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.1}")).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::meter::ProcessorUs;

    fn figure(database_us: Option<f64>) -> Figure {
        Figure {
            name: "new events".to_owned(),
            value: 30_849.0,
            unit: Unit::PerSecond,
            processor_us: ProcessorUs {
                service: Some(38.04),
                database: database_us,
            },
            ratio: Some(0.33),
            target: None,
            standing: Standing::NoTarget,
        }
    }

    #[test]
    fn processor_time_stands_beside_its_rate() {
        let text = table(&[figure(None)]).to_string();
        let cells = |line: &str| {
            line.split('|')
                .map(|cell| cell.trim().to_owned())
                .collect::<Vec<_>>()
        };
        let lines: Vec<_> = text.lines().map(cells).collect();
        assert_eq!(lines[0][1..5], ["figure", "value", "CPU µs", "ratio"]);
        assert_eq!(lines[2][1..5], ["new events", "30849/s", "38.0", "0.33"]);
    }

    #[test]
    fn the_database_has_a_column_where_it_has_a_time() {
        let text = table(&[figure(None), figure(Some(46.5))]).to_string();
        assert!(text.contains("database µs") && text.contains("46.5"), "{text}");
        assert!(!table(&[figure(None)]).to_string().contains("database"));
    }
}
