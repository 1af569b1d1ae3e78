//! Look-up: the ledger entry of an identity.

use hapax_core::Key;
use hapax_core::store::LedgerEntry;

use crate::failure::Failure;
use crate::ledger::{self, Entry};
use crate::link::Link;
use crate::reply;
use crate::snapshot::Command;

pub(crate) async fn look_up(link: &Link, key: Key) -> Result<Option<LedgerEntry>, Failure> {
    let command = Command::new("HGET", format!("l{}", ledger::bucket(key))).arg(key.as_bytes());
    let found = link
        .read(link.shards().of_key(key), vec![command])
        .await?
        .next()?;
    let entry = reply::optional_bytes(found)?
        .map(|bytes| Entry::from_bytes(&bytes))
        .transpose()?;
    Ok(entry.filter(|entry| !entry.is_forgotten).map(|entry| entry.known))
}
