//! Migration state in the first shard: the store's own origin, and the mark of an unfinished migration.

use std::sync::Arc;

use hapax_core::store::{ImportBegun, ImportMark, MigrationCursor, Origin};

use super::{census, numbers};
use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::shards::HOME;
use crate::snapshot::{Change, Command};
use crate::{import_mark, json, reply};

/// The number that identifies this store, drawn now if it has none.
pub(super) async fn origin(link: &Link) -> Result<Origin, Failure> {
    let drawn = fastrand::i64(i64::MIN..=i64::MAX);
    let mut change = Change::default().when("m", "origin", "");
    change.then(Command::new("HSET", "m").arg("origin").number(drawn));
    link.apply_one(HOME, change).await?;
    let question = vec![Command::new("HGET", "m").arg("origin")];
    let number = reply::text(link.read(HOME, question).await?.next()?)?;
    let number = number.parse().map_err(|_| damaged("the origin of the store"))?;
    Ok(Origin(number))
}

/// Marks an empty store as the target of an unfinished migration.
pub(super) async fn begin(link: &Arc<Link>, mark: &ImportMark) -> Result<ImportBegun, Failure> {
    if let Some(known) = import_mark::read(link).await? {
        return Ok(ImportBegun::Unfinished(known));
    }
    if !census::census(link).await?.is_empty() {
        return Ok(ImportBegun::Occupied);
    }
    // Before the mark: if the mark exists, this was done.
    numbers::pass(link, mark.census.numbers_below).await?;
    write(link, mark).await?;
    Ok(ImportBegun::Started)
}

/// The mark, or why nothing is imported.
pub(super) async fn begun(link: &Link) -> Result<ImportMark, Failure> {
    import_mark::read(link)
        .await?
        .ok_or_else(|| Failure::Rejected("no migration into this store was started".to_owned()))
}

/// Stores the progress of the migration.
pub(super) async fn advance(link: &Link, mark: ImportMark, reached: &MigrationCursor) -> Result<(), Failure> {
    let reached = reached.clone();
    write(link, &ImportMark { reached, ..mark }).await
}

/// Removes the mark.
pub(super) async fn finish(link: &Link) -> Result<(), Failure> {
    let mut change = Change::default();
    change.then(Command::new("HDEL", "m").arg("import"));
    link.apply_one(HOME, change).await?;
    Ok(())
}

async fn write(link: &Link, mark: &ImportMark) -> Result<(), Failure> {
    let mut change = Change::default();
    change.then(Command::new("HSET", "m").arg("import").arg(json::write(mark)?));
    link.apply_one(HOME, change).await?;
    Ok(())
}
