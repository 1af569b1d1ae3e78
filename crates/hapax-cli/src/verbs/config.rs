//! `hapax config`: check or show the configuration.

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_config::{self as config, ConfigError, Environment};
use hapax_terminal::output;

/// Check or show the configuration.
///
/// Both read the file, the environment and every secret, as `serve` does, and change nothing. All problems are reported
/// at once, with line and column.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax config check -c /etc/hapax.toml
  hapax config show --json")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Clone, Copy, Debug, clap::Subcommand)]
pub enum Command {
    /// Check the configuration as `serve` would; exits with 3 if it is invalid
    Check,
    /// Print the effective values and where each comes from; secrets are hidden
    Show,
}

pub fn run(args: &Args, globals: &Globals) -> Result<(), CliError> {
    let environment = Environment::beside(&globals.config);
    if let Some(dotenv) = environment.as_ref().ok().and_then(Environment::dotenv) {
        output::note(format_args!(
            "environment variables are also read from {}",
            dotenv.display()
        ));
    }
    let loaded = environment.and_then(|environment| config::load(&globals.config, &environment, &[]));
    if let (Command::Check, true, Err(ConfigError::Invalid { problems, .. })) =
        (args.command, globals.json, &loaded)
    {
        output::json(&serde_json::json!({ "ok": false, "problems": problems }))?;
        return Err(CliError::silent(Exit::Configuration));
    }
    let config = loaded?;
    match args.command {
        Command::Check => check(&config, globals),
        Command::Show if globals.json => Ok(output::json(&config.to_json())?),
        Command::Show => Ok(output::raw(config.to_toml().as_bytes())?),
    }
}

fn check(config: &config::Config, globals: &Globals) -> Result<(), CliError> {
    let warnings = config.warning_lines();
    if globals.json {
        let summary = serde_json::json!({
            "ok": true,
            "sources": config.sources.len(),
            "destinations": config.destinations.len(),
            "warnings": warnings,
        });
        return Ok(output::json(&summary)?);
    }
    for warning in &warnings {
        output::warning(warning);
    }
    let (sources, destinations) = (config.sources.len(), config.destinations.len());
    Ok(output::line(format_args!(
        "{}: ok, sources: {sources}, destinations: {destinations}",
        globals.config.display()
    ))?)
}
