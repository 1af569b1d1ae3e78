//! The number of duplicates of the events in a list.

use std::collections::HashMap;

use uuid::Uuid;

use super::found::Found;
use crate::batch::Batch;
use crate::failure::Failure;
use crate::session::Session;

const DUPLICATES: &str = "
    SELECT d.key, d.copies FROM {n} JOIN hapax.duplicates d ON d.bucket = {bucket} AND d.key = n.key";

/// Duplicates by key, for events that have any.
pub(super) async fn of(session: &Session, events: &[Found]) -> Result<HashMap<Uuid, u64>, Failure> {
    let batch = Batch::in_buckets(events.iter().map(|event| event.bucket))
        .column("key", events.iter().map(|event| event.key));
    let rows = session.over(DUPLICATES, &batch).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get::<_, i64>(1)? as u64)))
        .collect()
}
