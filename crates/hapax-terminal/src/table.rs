//! Tables: as wide as the terminal allows, and tab-separated if stdout is not a terminal.

use std::io::IsTerminal as _;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, ContentArrangement};
use hapax_core::{Clock as _, SystemClock};

use hapax_api::moment::Moments;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A person at a terminal of this many columns; `None` if the terminal itself knows its width.
    Person { width: Option<u16>, moments: Moments },
    /// A program: fields are separated by tabs, times are exact.
    Program,
}

impl Reader {
    /// The reader of stdout.
    pub fn of_stdout() -> Self {
        if std::io::stdout().is_terminal() {
            let moments = Moments::Relative(SystemClock::default().now());
            Self::Person { width: None, moments }
        } else {
            Self::Program
        }
    }

    pub const fn moments(self) -> Moments {
        match self {
            Self::Person { moments, .. } => moments,
            Self::Program => Moments::Exact,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(header: impl Into<Vec<&'static str>>) -> Self {
        Self {
            header: header.into(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push(row.into());
    }

    /// The whole table, without a line break at the end.
    pub fn render(&self, reader: Reader) -> String {
        match reader {
            Reader::Person { width, .. } => self.for_person(width),
            Reader::Program => self.for_program(),
        }
    }

    fn for_person(&self, width: Option<u16>) -> String {
        let mut table = comfy_table::Table::new();
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        if let Some(width) = width {
            table.set_width(width);
        }
        table.set_header(self.header.iter().map(|name| name.to_uppercase()));
        for row in &self.rows {
            // Text from a provider must not move the cursor or set colours.
            table.add_row(row.iter().map(|field| Cell::new(printable(field))));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    fn for_program(&self) -> String {
        let header = self.header.join("\t");
        let rows = self.rows.iter().map(|row| {
            row.iter()
                .map(|field| printable(field))
                .collect::<Vec<_>>()
                .join("\t")
        });
        std::iter::once(header).chain(rows).collect::<Vec<_>>().join("\n")
    }
}

/// The text with control characters escaped.
pub fn printable(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars()
        .fold(String::with_capacity(text.len()), |mut out, character| {
            if character.is_control() {
                out.extend(character.escape_default());
            } else {
                out.push(character);
            }
            out
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["id", "event id", "status"]);
        table.row(["1".to_owned(), "evt_1".to_owned(), "dead".to_owned()]);
        table.row([
            "2".to_owned(),
            "tab\there\u{1b}[31m".to_owned(),
            "completed".to_owned(),
        ]);
        table
    }

    #[test]
    fn a_program_gets_fields_separated_by_tabs_and_nothing_else() {
        insta::assert_snapshot!(table().render(Reader::Program).replace('\t', "→"), @r"
        id→event id→status
        1→evt_1→dead
        2→tab\there\u{1b}[31m→completed
        ");
    }

    #[test]
    fn a_person_gets_columns_that_fit() {
        let reader = Reader::Person {
            width: Some(60),
            moments: Moments::Exact,
        };
        insta::assert_snapshot!(table().render(reader), @r"
        ID  EVENT ID             STATUS
        1   evt_1                dead
        2   tab\there\u{1b}[31m  completed
        ");
    }
}
