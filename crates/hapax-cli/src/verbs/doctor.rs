//! `hapax doctor`: checks for common problems, and how to fix them.

mod check;
mod citus;
mod clock;
mod configuration;
mod destinations;
mod disk;
mod limits;
mod network;
mod outboxes;
mod ports;
mod redis;
mod service;
mod signatures;
mod store;

use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_config::{self as config, Environment};
use hapax_terminal::output;

use check::{Check, Outcome};
use service::Service;

/// Check configuration, store, clock, ports, destinations and outboxes, and say how to fix problems.
///
/// Works while a service is running and before the first start. Exits with 5 if a check found a problem.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax doctor -c /etc/hapax.toml")]
pub struct Args {}

pub async fn run(_args: Args, globals: &Globals) -> Result<(), CliError> {
    let checks = examine(globals).await;
    let failed = checks
        .iter()
        .filter(|check| check.outcome == Outcome::Fail)
        .count();
    if globals.json {
        output::json(&serde_json::json!({ "ok": failed == 0, "checks": checks }))?;
    } else {
        for check in &checks {
            output::line(check)?;
        }
    }
    if failed == 0 {
        return Ok(());
    }
    output::note(format_args!(
        "{failed} of {} checks found a problem",
        checks.len()
    ));
    Err(CliError::silent(Exit::ProblemFound))
}

async fn examine(globals: &Globals) -> Vec<Check> {
    let mut checks = Vec::new();
    let environment = Environment::beside(&globals.config);
    let config = match environment.and_then(|environment| config::load(&globals.config, &environment, &[])) {
        Ok(config) => config,
        Err(error) => {
            checks.extend(configuration::refused(&globals.config, &error));
            checks.push(limits::files());
            checks.push(clock::check(None));
            return checks;
        }
    };
    let service = Service::ask(globals).await;
    checks.extend(configuration::accepted(&config));
    checks.extend(signatures::check(&config));
    checks.extend(network::check(&config));
    checks.push(clock::check(Some(&config.store.url)));
    checks.push(limits::files());
    checks.extend(store::check(&config.store, &service, globals).await);
    checks.extend(citus::check(&config.store.url).await);
    checks.extend(redis::check(&config).await);
    checks.extend(disk::check(&config.store.url));
    checks.extend(ports::check(&config, &service).await);
    checks.extend(destinations::check(&config).await);
    checks.extend(outboxes::check(&config).await);
    checks
}
