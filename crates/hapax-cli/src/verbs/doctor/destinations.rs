//! Whether destinations can be reached. Each kind has its own check, which delivers nothing.

use super::check::Check;
use hapax_config::Config;
use hapax_delivery::destination::{Unreachable, kind};

pub(super) async fn check(config: &Config) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, destination) in &config.destinations {
        let check_name = format!("destination {name}");
        checks.push(match kind(destination).check().await {
            Ok(found) => Check::ok(check_name, found),
            Err(Unreachable { problem, fix }) => Check::fail(check_name, problem, fix),
        });
    }
    checks
}
