//! Which owners are alive, and the leases of those that are not: per shard, since each shard fails independently.

use std::sync::Arc;

use hapax_core::Owner;
use hapax_core::store::{AliveReport, LOST_MAX, Rescued};

use crate::failure::Failure;
use crate::link::Link;
use crate::script::ALIVE;
use crate::shards::Shard;
use crate::{micros, rescue};

pub(crate) async fn report(link: &Arc<Link>, report: AliveReport) -> Result<Vec<Rescued>, Failure> {
    let patience = report.patience;
    let mut args = vec![
        link.floor(),
        name(report.owner).into(),
        report.limit.to_string().into(),
        LOST_MAX.to_string().into(),
    ];
    for limit in [patience.gap, patience.silence, patience.reachable] {
        args.push(micros(limit).to_string().into());
    }
    let answers = link.call(Shard(report.shard as u8), &ALIVE, &args).await?;
    rescue::settle_all(link, answers).await
}

/// An owner as scripts write it: a Lua number cannot hold it exactly.
pub(crate) fn name(owner: Owner) -> String {
    format!("{:016x}", owner.0)
}
