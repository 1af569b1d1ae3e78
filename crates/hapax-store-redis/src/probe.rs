//! Proving that the store can write right now.

use std::sync::Arc;

use crate::failure::Failure;
use crate::link::{Link, on_each};
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Room};

/// Writes a value that nothing reads to every shard. It fails if a server is gone or full.
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
