//! `hapax twice run`: delivers events by every plan, and reports.

use std::path::PathBuf;
use std::time::Duration;

use hapax_core::Secret;
use hapax_twice::{Plan, PlanOutcome, PlanResult, Twice};

use crate::exit::{CliError, Exit};
use crate::verbs::Globals;
use hapax_api::duration::parse_duration;
use hapax_config::{Environment, resolve_secret};
use hapax_terminal::output;

/// Deliver events by every plan, and say what was doubled, lost or should have been refused.
///
/// Plans: `again` (a copy right after the first), `concurrent:N` (N at the same moment), `hang-up` (the sender goes away
/// before the answer, and comes again), `slow` (a copy while the first is still being worked on), `late:N` (a copy after N
/// other events), `out-of-order` (an older event after a newer one), `crash:COMMAND` (the command kills and restarts the
/// handler in the middle of a delivery), `outage:COMMAND` (the command, run with `down`, breaks what the handler needs
/// during the first attempt, and fixes it with `up`), and what must be refused: `unsigned`, `tampered`, `stale`. `standard` is all of
/// them but those with a command. Exits with 5 if a plan finds a fault.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax twice run --to http://127.0.0.1:3000/webhooks --provider stripe --secret env:STRIPE_WEBHOOK_SECRET \\
      --snapshot 'psql -Atc \"select count(*), sum(amount) from payments\"'
  hapax twice run --to http://127.0.0.1:3000/webhooks --provider github --secret env:GITHUB_SECRET --events ./events \\
      --snapshot 'sqlite3 app.db .dump' --plan standard --plan 'crash:systemctl kill -s KILL app' --junit twice.xml")]
pub struct Args {
    /// The handler
    #[arg(long, value_name = "URL")]
    pub to: String,

    /// Whose deliveries it takes: see `hapax providers`
    #[arg(long, value_name = "NAME")]
    pub provider: String,

    /// The secret it checks: `env:NAME`, `file:PATH`, `exec:COMMAND` or the secret itself
    #[arg(long, value_name = "SECRET", value_parser = crate::verbs::secret)]
    pub secret: Secret,

    /// A folder of events: NAME.json is a body, NAME.headers beside it further headers [default: the provider's sample]
    #[arg(long, value_name = "DIR")]
    pub events: Option<PathBuf>,

    /// A shell command that prints the state the handler writes, one row on each line
    #[arg(long, value_name = "COMMAND")]
    pub snapshot: String,

    /// What to try; may be given several times
    #[arg(long = "plan", value_name = "PLAN", default_value = "standard", value_parser = plans)]
    pub plans: Vec<Plans>,

    /// How long the snapshot must stay the same until the handler counts as done
    #[arg(long, value_name = "DURATION", default_value = "250ms", value_parser = parse_duration)]
    pub settle: Duration,

    /// Write the results as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// What one `--plan` stands for.
#[derive(Clone, Debug)]
pub struct Plans(Vec<Plan>);

/// Runs the verb.
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
    output::note("learning what one delivery of each event changes");
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
