//! Extend: moves the ends of leases.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::Hold;
use hapax_core::store::Written;

use crate::failure::Failure;
use crate::link::Link;
use crate::script::EXTEND;
use crate::spread::{by_shard, in_order};
use crate::{micros, reply};

pub(crate) async fn extend(
    link: &Arc<Link>,
    holds: Vec<Hold>,
    lease_for: Duration,
) -> Result<Vec<Written>, Failure> {
    let micros = micros(lease_for).to_string().into_bytes();
    let calls = by_shard(holds, |hold| link.shards().of_event(hold.event));
    let calls = calls.into_iter().map(|(shard, holds)| {
        let mut args = vec![link.floor(), micros.clone()];
        for (_, hold) in &holds {
            args.extend([
                hold.event.as_bytes().to_vec(),
                hold.destination.as_str().into(),
                hold.token.0.to_string().into(),
            ]);
        }
        async move {
            let answers = reply::list(link.call(shard, &EXTEND, &args).await?)?;
            let written = answers
                .into_iter()
                .map(|answer| Ok(written(reply::number(answer)?)));
            let places = holds.into_iter().map(|(place, _)| place);
            places
                .zip(written)
                .map(|(place, written)| Ok((place, written?)))
                .collect()
        }
    });
    in_order(calls).await
}

const fn written(answer: u64) -> Written {
    match answer {
        0 => Written::LeaseLost,
        _ => Written::Applied,
    }
}
