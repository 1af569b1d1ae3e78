//! Output of the verbs: data to stdout, messages to stderr, as text or as JSON.
//!
//! Colours are always written; `anstream` strips them where the terminal, `NO_COLOR` or `--color` asks for it.

use std::fmt::Display;
use std::io::{self, Write as _};

use clap::ValueEnum;
use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Applies the choice to everything printed from now on.
    pub fn apply(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Prints one line of data.
pub fn line(text: impl Display) -> io::Result<()> {
    writeln!(anstream::stdout().lock(), "{text}")
}

/// A count with its noun in the singular or plural.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Prints bytes as they are, without adding a line break.
pub fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Prints one JSON document, indented, with a line break at the end.
pub fn json(data: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(data)?;
    text.push('\n');
    raw(text.as_bytes())
}

/// Prints one JSON document on one line, for streams that are read line by line.
pub fn json_line(data: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(data)?;
    text.push('\n');
    raw(text.as_bytes())
}

/// Prints progress, hints and results for people to stderr. A closed stderr is ignored.
pub fn note(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints something that is not an error but needs attention.
pub fn warning(text: impl Display) {
    use owo_colors::OwoColorize as _;
    note(format_args!("{} {text}", "warning:".yellow().bold()));
}

/// Prints the error of a failed verb and its causes, one cause per line.
pub fn error(error: &anyhow::Error) {
    use owo_colors::OwoColorize as _;
    note(format_args!("{} {error}", "error:".red().bold()));
    for cause in error.chain().skip(1) {
        note(format_args!("  because: {cause}"));
    }
}
