//! `hapax man`: manual pages, generated from the verbs.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Command, CommandFactory as _};

use super::Cli;
use crate::exit::CliError;
use hapax_terminal::output;

/// Print the manual page.
///
/// With `--dir`, writes a page for every verb instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax man | man -l -
  hapax man --dir /usr/local/share/man/man1")]
pub struct Args {
    /// Write one page for each verb into this folder
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    let mut command = Cli::command();
    // Builds the names of the subcommands: `hapax-events-list`.
    command.build();
    match &args.dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            output::raw(&page)?;
        }
        Some(folder) => {
            let written = write_pages(&command, folder)?;
            output::note(format_args!(
                "{written} pages were written to {}",
                folder.display()
            ));
        }
    }
    Ok(())
}

fn write_pages(command: &Command, folder: &Path) -> anyhow::Result<usize> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page).with_context(|| format!("{} cannot be written", path.display()))?;
    let mut written = 1;
    for verb in command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
    {
        written += write_pages(verb, folder)?;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_gets_a_page() {
        let folder = tempfile::tempdir().unwrap();
        run(&Args {
            dir: Some(folder.path().to_owned()),
        })
        .unwrap();
        for page in ["hapax.1", "hapax-serve.1", "hapax-events-list.1"] {
            assert!(folder.path().join(page).exists(), "{page}");
        }
        assert!(!folder.path().join("hapax-reference.1").exists());
    }
}
