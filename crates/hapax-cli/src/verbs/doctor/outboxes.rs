//! Whether outboxes can be relayed, and whether their rows are. Nothing is created or claimed.

use super::check::Check;
use hapax_config::{Config, Outbox};
use hapax_delivery::outbox::{Counts, Examined, Table, TableError, table};

pub(super) async fn check(config: &Config) -> Vec<Check> {
    let mut checks = Vec::new();
    for outbox in config.outboxes.values() {
        let name = format!("outbox {}", outbox.name);
        checks.push(examined(name, outbox, &*table(outbox)).await);
    }
    checks
}

async fn examined(name: String, outbox: &Outbox, table: &dyn Table) -> Check {
    let shown = &outbox.url;
    let unusable = |error: &TableError| {
        Check::fail(
            name.clone(),
            format!("{shown}: {error}"),
            "start the database, correct the url, or grant the missing privileges; until then, rows wait; nothing is \
             lost",
        )
    };
    let missing = match table.examine().await {
        Err(error) => return unusable(&error),
        Ok(Examined::Missing) => {
            let detail = format!("{shown} has no table hapax_outbox yet; `hapax serve` creates it");
            return Check::ok(name, detail);
        }
        Ok(Examined::WithoutIndex(index)) => Some(index),
        Ok(Examined::Whole) => None,
    };
    let counts = match table.counts().await {
        Err(error) => return unusable(&error),
        Ok(counts) => counts,
    };
    let Counts {
        pending,
        leased,
        refused,
        ..
    } = counts;
    let rows = format!("{shown}: rows waiting: {}, refused: {refused}", pending + leased);
    if refused > 0 {
        let fix = "`hapax outbox list` says why; correct the row or the configuration and `hapax outbox retry ID`, or delete it";
        return Check::fail(name, rows, fix);
    }
    if let Some(index) = missing {
        let fix = format!(
            "create the index {index} as in docs/guides/outbox.md; without it, queries scan the whole table"
        );
        return Check::warn(name, rows, fix);
    }
    Check::ok(name, rows)
}
