//! The cost of telemetry when its receivers fail: accepts without it, and with a trace receiver that never answers and
//! an alert receiver that is gone. The service's own metrics confirm that an alert fires and that spans were made.

mod receiver;
mod spans;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

use crate::connection::Connection;
use crate::service::{Settings, Site, new_secret, quoted};

use super::comparison::{self, CONNECTIONS, Comparison, Pair as _, Side};
use super::database::Database;
use super::meter::{Meter, Rate};
use super::plan::Plan;
use super::round::unexpected;
use super::site::{self, Loads, STORED};
use receiver::Hanging;

/// Rules are evaluated every ten seconds.
const ALERT_LIMIT: Duration = Duration::from_secs(60);
const ALERT_EVERY: Duration = Duration::from_millis(200);
/// Lines of `/metrics` that count failed alert messages to the receiver that is gone.
const UNTOLD: &str = "hapax_alert_messages_total{receiver=\"gone\",result=\"failed\"}";

/// Accepts on both sides.
#[derive(Debug, Default, Serialize)]
pub struct Pair {
    without: Rate,
    with: Rate,
    /// Spans that the side with telemetry recorded.
    spans: u64,
}

pub async fn run(plan: &Plan) -> anyhow::Result<Comparison<Pair>> {
    comparison::run(plan).await
}

pub fn print(results: &Comparison<Pair>) -> std::io::Result<()> {
    comparison::print(results)
}

impl comparison::Pair for Pair {
    const RATIO_MIN: f64 = 0.97;

    fn label(side: Side) -> &'static str {
        match side {
            Side::Without => "accepts without telemetry",
            Side::With => "accepts with receivers that never answer or are gone",
        }
    }

    fn ratio(&self) -> f64 {
        comparison::ratio(self.with.per_second, self.without.per_second)
    }

    async fn measure(
        &mut self,
        plan: &Plan,
        database: &Database,
        side: Side,
        folder: &Path,
    ) -> anyhow::Result<Vec<String>> {
        let receiver = Hanging::start().await?;
        let secret = new_secret();
        let settings = Settings {
            destinations: telemetry(side, &receiver)?,
            ..site::settings(folder, plan.store.as_deref(), &secret)
        };
        let place = Site::create(folder, &settings)?;
        let service = place.start().await?;
        let pid = service.pid().context("the service has no process id")?;
        if side == Side::With {
            until_an_alert_fails(&place).await?;
        }
        let loads = Loads {
            secret: &secret,
            seconds: plan.seconds,
        };
        let running = Meter::new(pid, database).start();
        let report = loads.new_events(place.ingest(), CONNECTIONS).await?;
        let rate = Rate::of(&report, running.end());
        let spans = spans::count(&site::metrics(&place).await?);
        service.end().await?;
        match side {
            Side::Without => self.without = rate,
            Side::With => (self.with, self.spans) = (rate, spans),
        }
        let accepted = report.counts.accepted;
        let odd = unexpected(Self::label(side), &report, accepted);
        Ok(odd.into_iter().chain(spans::odd(side, spans, accepted)).collect())
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "accepts without telemetry {}, with {}: {:.3} ({} spans)",
            self.without,
            self.with,
            self.ratio(),
            self.spans
        )
    }
}

/// The tables for telemetry whose receivers fail.
fn telemetry(side: Side, receiver: &Hanging) -> anyhow::Result<String> {
    if side == Side::Without {
        return Ok(String::new());
    }
    Ok(format!(
        "\n[traces]\nendpoint = {}\n\
         \n[alerts]\nsignature_failures = 0\n\
         \n[alerts.receivers.gone]\nkind = \"webhook\"\nurl = {}\n",
        quoted(&format!("http://{}", receiver.address())),
        quoted(&format!("http://{}/", receiver::closed()?)),
    ))
}

/// Sends a request without a signature, which exceeds the rule's limit: an alert fires, and cannot be delivered.
async fn until_an_alert_fails(place: &Site) -> anyhow::Result<()> {
    let unsigned = format!("POST /in/{STORED} HTTP/1.1\r\nhost: bench\r\ncontent-length: 2\r\n\r\n{{}}");
    let mut connection = Connection::open(place.ingest()).await?;
    let answer = connection.exchange(unsigned.as_bytes()).await?;
    anyhow::ensure!(
        answer.status == 401,
        "an unsigned request was answered {}",
        answer.status
    );
    let fails = async {
        while site::sum_of(&site::metrics(place).await?, UNTOLD) == 0 {
            tokio::time::sleep(ALERT_EVERY).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(ALERT_LIMIT, fails)
        .await
        .context("no alert fired, although its threshold was exceeded")?
}
