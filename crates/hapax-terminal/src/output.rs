//! What verbs print: data to stdout, talk to stderr, as text or as JSON.
//!
//! Colours are written always and taken out by `anstream` where the terminal, `NO_COLOR` or `--color` says so.

use std::fmt::Display;
use std::io::{self, Write as _};

use clap::ValueEnum;
use serde::Serialize;

/// Whether to colour.
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
    /// Applies the choice to everything printed from here on.
    pub fn apply(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// One line of data.
pub fn line(text: impl Display) -> io::Result<()> {
    writeln!(anstream::stdout().lock(), "{text}")
}

/// A count with its noun, in the number that fits.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Data as it is, without a line end of ours.
pub fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// One JSON document, indented, with a line end.
pub fn json(data: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(data)?;
    text.push('\n');
    raw(text.as_bytes())
}

/// One JSON document on one line: for streams, which are read line by line.
pub fn json_line(data: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(data)?;
    text.push('\n');
    raw(text.as_bytes())
}

/// Talk: progress, hints and results for people. A closed stderr is no one's loss.
pub fn note(text: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Something that is not an error and still should be looked at.
pub fn warning(text: impl Display) {
    use owo_colors::OwoColorize as _;
    note(format_args!("{} {text}", "warning:".yellow().bold()));
}

/// The last words of a verb that failed: the error and what caused it, one cause on each line.
pub fn error(error: &anyhow::Error) {
    use owo_colors::OwoColorize as _;
    note(format_args!("{} {error}", "error:".red().bold()));
    for cause in error.chain().skip(1) {
        note(format_args!("  because: {cause}"));
    }
}
