//! `hapax completions`: shell completions, generated from the verbs.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::exit::CliError;
use hapax_terminal::output;

/// Print shell completions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax completions bash > ~/.local/share/bash-completion/completions/hapax
  hapax completions zsh > ~/.zfunc/_hapax
  hapax completions fish > ~/.config/fish/completions/hapax.fish")]
pub struct Args {
    /// Shell to generate for
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hapax", &mut script);
    Ok(output::raw(&script)?)
}
