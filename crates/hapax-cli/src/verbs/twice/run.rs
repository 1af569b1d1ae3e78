//! `hapax twice run`: delivers events by every plan, and reports.

use std::path::PathBuf;
use std::time::Duration;

use hapax_core::Secret;
use hapax_twice::{Plan, PlanOutcome, PlanResult, Twice};

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_api::duration::parse_duration;
use hapax_config::{Environment, resolve_secret};
use hapax_terminal::output;

/// Deliver events by every plan, and report deliveries that were doubled, lost or wrongly accepted.
///
/// Plans: `again` (a duplicate right after the first), `concurrent:N` (N at the same moment), `hang-up` (the provider
/// disconnects before the response, and retries), `slow` (a duplicate while the first is still being processed),
/// `late:N` (a duplicate after N other events), `out-of-order` (an older event after a newer one), `crash:COMMAND` (the
/// command kills and restarts the handler in the middle of a delivery), `outage:COMMAND` (the command, run with `down`,
/// breaks a dependency of the handler during the first attempt, and with `up` restores it), and deliveries that must be
/// refused: `unsigned`, `tampered`, `stale`. `standard` is all of them except those with a command. Exits with 5 if a
/// plan finds a fault.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax twice run --to http://127.0.0.1:3000/webhooks --provider stripe --secret env:STRIPE_WEBHOOK_SECRET \\
      --snapshot 'psql -Atc \"select count(*), sum(amount) from payments\"'
  hapax twice run --to http://127.0.0.1:3000/webhooks --provider github --secret env:GITHUB_SECRET --events ./events \\
      --snapshot 'sqlite3 app.db .dump' --plan standard --plan 'crash:systemctl kill -s KILL app' --junit twice.xml")]
pub struct Args {
    /// URL of the handler
    #[arg(long, value_name = "URL")]
    pub to: String,

    /// Provider whose deliveries the handler accepts; `hapax providers` lists them
    #[arg(long, value_name = "NAME")]
    pub provider: String,

    /// Secret that the handler verifies with: `env:NAME`, `file:PATH`, `exec:COMMAND` or the secret itself
    #[arg(long, value_name = "SECRET", value_parser = crate::globals::secret)]
    pub secret: Secret,

    /// Folder of events: NAME.json is a body, NAME.headers has additional headers [default: the provider's sample]
    #[arg(long, value_name = "DIR")]
    pub events: Option<PathBuf>,

    /// Shell command that prints the state the handler writes, one row per line
    #[arg(long, value_name = "COMMAND")]
    pub snapshot: String,

    /// Plan to run; may be repeated
    #[arg(long = "plan", value_name = "PLAN", default_value = "standard", value_parser = plans)]
    pub plans: Vec<Plans>,

    /// How long the snapshot must stay the same before the handler counts as done
    #[arg(long, value_name = "DURATION", default_value = "250ms", value_parser = parse_duration)]
    pub settle: Duration,

    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// The plans that one `--plan` stands for.
#[derive(Clone, Debug)]
pub struct Plans(Vec<Plan>);

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let (secret, _) = resolve_secret(args.secret.expose(), &Environment::beside(&globals.config)?)?;
    let plans: Vec<Plan> = args.plans.into_iter().flat_map(|plans| plans.0).collect();
    let mut test = Twice::new(args.to)
        .provider(args.provider)
        .secret(secret.expose())
        .plans(plans)
        .settle(args.settle)
        .snapshot_command(args.snapshot)
        .watch(progress);
    if let Some(folder) = &args.events {
        test = test.events_in(folder).map_err(failure)?;
    }
    output::note("recording the effect of one delivery of each event");
    let report = test.run().await.map_err(failure)?;
    if let Some(file) = &args.junit {
        std::fs::write(file, report.junit())
            .map_err(|error| CliError::failed(format!("{} cannot be written: {error}", file.display())))?;
    }
    if globals.json {
        output::json(&report)?;
    } else {
        output::line(&report)?;
    }
    if report.passed() {
        Ok(())
    } else {
        Err(CliError::silent(Exit::ProblemFound))
    }
}

fn plans(text: &str) -> Result<Plans, hapax_twice::plan::NotAPlan> {
    match text {
        "standard" => Ok(Plans(Plan::standard())),
        plan => Ok(Plans(vec![plan.parse()?])),
    }
}

fn progress(result: &PlanResult) {
    let word = match result.outcome {
        PlanOutcome::Passed { .. } => "passed",
        PlanOutcome::Failed(_) => "FAILED",
        PlanOutcome::Skipped { .. } => "skipped",
    };
    output::note(format_args!("{}, {}: {word}", result.plan, result.event));
}

fn failure(error: hapax_twice::Error) -> CliError {
    let exit = if error.is_usage() {
        Exit::Usage
    } else {
        Exit::Failed
    };
    CliError::new(exit, error)
}
