//! Finish: records the results of attempts. A lane whose head is done continues before the answer.

use hapax_core::AttemptOutcome;
use hapax_core::store::{Report, Written};
use redis::Value;

use crate::failure::{Failure, damaged};
use crate::lanes::{self, Step};
use crate::link::Link;
use crate::script::FINISH;
use crate::shards::Shard;
use crate::spread::{by_shard, in_order};
use crate::{micros, reply};

pub(crate) async fn finish(link: &Link, reports: Vec<Report>) -> Result<Vec<Written>, Failure> {
    let calls = by_shard(reports, |report| link.shards().of_event(report.hold.event));
    in_order(
        calls
            .into_iter()
            .map(|(shard, reports)| finish_some(link, shard, reports)),
    )
    .await
}

async fn finish_some(
    link: &Link,
    shard: Shard,
    reports: Vec<(usize, Report)>,
) -> Result<Vec<(usize, Written)>, Failure> {
    let mut args = vec![link.floor()];
    for (_, report) in &reports {
        add(&mut args, report)?;
    }
    let answers = reply::list(link.call(shard, &FINISH, &args).await?)?;
    let mut written = Vec::with_capacity(reports.len());
    for ((place, report), answer) in reports.into_iter().zip(answers) {
        written.push((place, settle(link, &report, answer).await?));
    }
    Ok(written)
}

fn add(args: &mut Vec<Vec<u8>>, report: &Report) -> Result<(), Failure> {
    let (outcome, detail) = match report.outcome {
        AttemptOutcome::Completed => ("completed", String::new()),
        AttemptOutcome::Retry { after } => ("retry", micros(after).to_string()),
        AttemptOutcome::Dead { reason } => ("dead", reason.as_str().to_owned()),
        AttemptOutcome::Release => ("release", String::new()),
    };
    let attempt = match &report.attempt {
        Some(attempt) => serde_json::to_vec(attempt).map_err(|_| damaged("an attempt"))?,
        None => Vec::new(),
    };
    let hold = &report.hold;
    args.extend([
        hold.event.as_bytes().to_vec(),
        hold.destination.as_str().into(),
        hold.token.0.to_string().into(),
        outcome.into(),
        detail.into(),
        attempt,
    ]);
    Ok(())
}

async fn settle(link: &Link, report: &Report, answer: Value) -> Result<Written, Failure> {
    match answer {
        Value::Int(0) => Ok(Written::LeaseLost),
        Value::Int(_) => Ok(Written::Applied),
        goes_on => {
            let parts = reply::exactly(goes_on)?;
            let step = Step::written(report.hold.event, &report.hold.destination, parts)?;
            lanes::take_or_leave(link, &step).await;
            Ok(Written::Applied)
        }
    }
}
