//! The mark of an unfinished migration, and the number that identifies this store.

use hapax_core::store::ImportMark;

use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::reply;
use crate::shards::HOME;
use crate::snapshot::Command;

/// The mark, if the store belongs to an unfinished migration.
pub(crate) async fn read(link: &Link) -> Result<Option<ImportMark>, Failure> {
    let command = Command::new("HGET", "m").arg("import");
    let mark = link.read(HOME, vec![command]).await?.next()?;
    reply::optional_bytes(mark)?
        .map(|bytes| {
            serde_json::from_slice(&bytes).map_err(|_| damaged("the mark of an unfinished migration"))
        })
        .transpose()
}
