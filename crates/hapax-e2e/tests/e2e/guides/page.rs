//! A page of the documentation, and the parts of it that a reader tries out.

use std::path::Path;

pub(super) struct Page(String);

impl Page {
    /// By its path in the repository.
    pub(super) fn read(path: &str) -> Self {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        Self(std::fs::read_to_string(root.join(path)).unwrap())
    }

    /// The commands of each block of shell.
    pub(super) fn shell(&self) -> Vec<Vec<String>> {
        let text = self.0.replace("\\\n", " ");
        let blocks = text.split("\n```sh\n").skip(1);
        let blocks = blocks.map(|rest| rest.split("\n```").next().unwrap_or_default());
        let commands = |block: &str| block.lines().map(str::to_owned).collect();
        blocks.map(commands).collect()
    }

    /// Every `hapax …` in a cell of a table.
    pub(super) fn commands_in_tables(&self) -> Vec<String> {
        let rows = self.0.lines().filter(|line| line.starts_with('|'));
        let quoted = rows.flat_map(quoted).filter(|text| text.starts_with("hapax "));
        quoted.map(str::to_owned).collect()
    }

    /// The names in the first column of the table whose first heading this is.
    pub(super) fn first_column(&self, heading: &str) -> Vec<String> {
        let start = format!("| {heading} |");
        let rows = self.0.lines().skip_while(|line| !line.starts_with(&start));
        let rows = rows.take_while(|line| line.starts_with('|'));
        let cells = rows.filter_map(|row| row.split('|').nth(1));
        cells.flat_map(quoted).map(str::to_owned).collect()
    }
}

/// What a line has between backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}
