//! Proving that the store can write now.

use std::sync::Arc;

use crate::failure::Failure;
use crate::link::{Link, on_each};
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Room};

/// Writes to every shard what no one reads: a server that is gone, or full, fails it.
pub(crate) async fn probe(link: &Arc<Link>) -> Result<(), Failure> {
    on_each(link, write).await?;
    Ok(())
}

async fn write(link: Arc<Link>, shard: Shard) -> Result<(), Failure> {
    let mut change = Change::default();
    change.then(Command::new("HSET", "m").arg("probed").number(1));
    link.apply(shard, &[change], Room::Needed).await?;
    Ok(())
}
