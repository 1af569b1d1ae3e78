//! The command line: the tree of verbs, the global flags, and the mapping from errors to exit codes.
//!
//! Each verb has its own file with its own `Args` and `run`.

pub mod alerts;
pub mod attack;
pub mod audit;
pub mod bench;
pub mod body;
pub mod ceiling;
pub mod completions;
pub mod config;
pub mod conflicts;
pub mod dead;
pub mod demo;
pub mod destinations;
pub mod dev;
pub mod doctor;
pub mod erase;
pub mod events;
pub mod explain;
pub mod filter;
pub mod forget;
#[cfg(test)]
mod guides;
pub mod health;
pub mod init;
pub mod ledger;
pub mod load;
pub mod man;
pub mod option;
pub mod outbox;
pub mod overview;
pub mod pause;
pub mod print;
pub mod providers;
pub mod reference;
pub mod register;
mod renamed;
pub mod replay;
pub mod replays;
pub mod resume;
pub mod searches;
pub mod send;
pub mod serve;
pub mod sink;
pub mod soak;
pub mod sources;
pub mod stats;
pub mod store;
pub mod twice;
pub mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_terminal::output;

/// Every webhook takes effect exactly once.
///
/// Hapax receives webhooks, verifies their signatures, stores each event once no matter how often it arrives, and
/// delivers it to your handlers until they succeed.
#[derive(Debug, Parser)]
#[command(name = "hapax", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    globals: Globals,

    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  hapax dev                      try it: no configuration, prints a line that sends a first event
  hapax init stripe              write a hapax.toml for Stripe
  hapax serve                    run the service
  hapax events list --status dead

Exit codes: 0 done, 1 failed, 2 usage, 3 configuration, 4 not found, 5 a check found a problem.";

/// The verbs. The help text of each is on its `Args`: a doc comment here would replace the long help there.
#[derive(Debug, Subcommand)]
enum Verb {
    Dev(dev::Args),
    Demo(demo::Args),
    Serve(serve::Args),
    Init(init::Args),
    Config(config::Args),
    Providers(providers::Args),
    Send(send::Args),
    Verify(verify::Args),
    Events(events::Args),
    Replay(replay::Args),
    Replays(replays::Args),
    Dead(dead::Args),
    Conflicts(conflicts::Args),
    Searches(searches::Args),
    Outbox(outbox::Args),
    Ledger(ledger::Args),
    Forget(forget::Args),
    Erase(erase::Args),
    Sources(sources::Args),
    Destinations(destinations::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Register(register::Args),
    Overview(overview::Args),
    Stats(stats::Args),
    Alerts(alerts::Args),
    Audit(audit::Args),
    Store(store::Args),
    Twice(twice::Args),
    Print(print::Args),
    Bench(bench::Args),
    Doctor(doctor::Args),
    Health(health::Args),
    Explain(explain::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    Reference(reference::Args),
    /// Load client of the benchmark
    #[command(hide = true)]
    Load(load::Args),
    /// Attacker of `hapax bench --hostile`
    #[command(hide = true)]
    Attack(attack::Args),
    /// Bare handler that the benchmark compares with
    #[command(hide = true)]
    Ceiling(ceiling::Args),
    /// Destination that the benchmark delivers to
    #[command(hide = true)]
    Sink(sink::Args),
    #[command(hide = true)]
    Soak(soak::Args),
}

/// Parses the command line, runs the verb and returns the exit code.
pub fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| renamed::with_hint(error, std::env::args()).exit());
    cli.globals.color.apply();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::error(&anyhow::Error::new(error).context("the async runtime could not be started"));
            return Exit::Failed.into();
        }
    };
    let result = runtime.block_on(run(cli));
    // Detached work (reading stdin, a DNS lookup) must not keep the process alive.
    runtime.shutdown_background();
    match result {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            if let Some(error) = &failure.error {
                output::error(error);
            }
            failure.exit.into()
        }
    }
}

async fn run(cli: Cli) -> Result<(), CliError> {
    let globals = &cli.globals;
    match cli.verb {
        Verb::Dev(args) => dev::run(args, globals).await,
        Verb::Demo(args) => demo::run(args, globals).await,
        Verb::Serve(args) => serve::run(args, globals).await,
        Verb::Init(args) => init::run(&args, globals),
        Verb::Config(args) => config::run(&args, globals),
        Verb::Providers(args) => providers::run(args, globals).await,
        Verb::Send(args) => send::run(args, globals).await,
        Verb::Verify(args) => verify::run(args, globals).await,
        Verb::Events(args) => events::run(args, globals).await,
        Verb::Replay(args) => replay::run(args, globals).await,
        Verb::Replays(args) => replays::run(args, globals).await,
        Verb::Conflicts(args) => conflicts::run(args, globals).await,
        Verb::Searches(args) => searches::run(args, globals).await,
        Verb::Dead(args) => dead::run(args, globals).await,
        Verb::Outbox(args) => outbox::run(args, globals).await,
        Verb::Ledger(args) => ledger::run(args, globals).await,
        Verb::Sources(args) => sources::run(args, globals).await,
        Verb::Destinations(args) => destinations::run(args, globals).await,
        Verb::Forget(args) => forget::run(args, globals).await,
        Verb::Erase(args) => erase::run(args, globals).await,
        Verb::Pause(args) => pause::run(args, globals).await,
        Verb::Resume(args) => resume::run(args, globals).await,
        Verb::Register(args) => register::run(args, globals).await,
        Verb::Overview(args) => overview::run(args, globals).await,
        Verb::Audit(args) => audit::run(args, globals).await,
        Verb::Stats(args) => stats::run(args, globals).await,
        Verb::Alerts(args) => alerts::run(args, globals).await,
        Verb::Store(args) => store::run(args, globals).await,
        Verb::Twice(args) => twice::run(args, globals).await,
        Verb::Print(args) => print::run(&args),
        Verb::Bench(args) => bench::run(args, globals).await,
        Verb::Doctor(args) => doctor::run(args, globals).await,
        Verb::Health(args) => health::run(args, globals).await,
        Verb::Explain(args) => explain::run(&args, globals),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
        Verb::Reference(args) => reference::run(&args),
        Verb::Load(args) => load::run(args).await,
        Verb::Soak(args) => soak::run(args, globals).await,
        Verb::Attack(args) => attack::run(args).await,
        Verb::Ceiling(args) => ceiling::run(args).await,
        Verb::Sink(args) => sink::run(args).await,
    }
}

/// A value as the API writes it, if that is a single word.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_tree_of_verbs_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_has_an_example_in_its_help() {
        for verb in Cli::command()
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
        {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                help.contains(&format!("hapax {}", verb.get_name())),
                "{}",
                verb.get_name()
            );
        }
    }

    #[test]
    fn the_token_is_in_no_debug_output_and_its_variable_in_no_help() {
        let cli = Cli::parse_from(["hapax", "--token", "hunter2", "doctor"]);
        assert!(!format!("{cli:?}").contains("hunter2"));
        let token = Cli::command()
            .get_arguments()
            .find(|argument| argument.get_id() == "token")
            .cloned();
        assert!(token.is_some_and(|argument| argument.is_hide_env_values_set()));
    }

    #[test]
    fn global_flags_are_understood_after_the_verb_too() {
        let cli = Cli::parse_from(["hapax", "config", "show", "--json", "-c", "other.toml"]);
        assert!(cli.globals.json);
        assert_eq!(cli.globals.config, PathBuf::from("other.toml"));
    }
}
