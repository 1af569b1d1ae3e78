//! The cost of encryption: new events with and without keys.

use std::fmt;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

use crate::service::{Settings, Site, new_secret};

use super::comparison::{self, CONNECTIONS, Comparison, Pair as _, Side};
use super::database::Database;
use super::meter::{Meter, Rate};
use super::plan::Plan;
use super::round::unexpected;
use super::site::{self, Loads};

/// New events on both sides.
#[derive(Debug, Default, Serialize)]
pub struct Pair {
    plain: Rate,
    encrypted: Rate,
}

pub async fn run(plan: &Plan) -> anyhow::Result<Comparison<Pair>> {
    comparison::run(plan).await
}

pub fn print(results: &Comparison<Pair>) -> std::io::Result<()> {
    comparison::print(results)
}

impl comparison::Pair for Pair {
    const RATIO_MIN: f64 = 0.9;

    fn label(side: Side) -> &'static str {
        match side {
            Side::Without => "plain",
            Side::With => "encrypted",
        }
    }

    fn ratio(&self) -> f64 {
        comparison::ratio(self.encrypted.per_second, self.plain.per_second)
    }

    async fn measure(
        &mut self,
        plan: &Plan,
        database: &Database,
        side: Side,
        folder: &Path,
    ) -> anyhow::Result<Vec<String>> {
        let secret = new_secret();
        let key = format!("{:032x}", fastrand::u128(..));
        let settings = Settings {
            encryption_key: (side == Side::With).then_some(key),
            ..site::settings(folder, plan.store.as_deref(), &secret)
        };
        let place = Site::create(folder, &settings)?;
        let service = place.start().await?;
        let pid = service.pid().context("the service has no process id")?;
        let loads = Loads {
            secret: &secret,
            seconds: plan.seconds,
        };
        let running = Meter::new(pid, database).start();
        let report = loads.new_events(place.ingest(), CONNECTIONS).await?;
        let rate = Rate::of(&report, running.end());
        service.end().await?;
        match side {
            Side::Without => self.plain = rate,
            Side::With => self.encrypted = rate,
        }
        let problem = unexpected(Self::label(side), &report, report.counts.accepted);
        Ok(problem.into_iter().collect())
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "new events in plain {}, encrypted {}: {:.3}",
            self.plain,
            self.encrypted,
            self.ratio()
        )
    }
}
