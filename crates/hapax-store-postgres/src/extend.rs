//! Extending leases, each only while it is held.

use std::collections::HashSet;
use std::time::Duration;

use hapax_core::Hold;
use hapax_core::store::Written;
use uuid::Uuid;

use crate::failure::Failure;
use crate::finish;
use crate::rows::{bucket_of, uuid_of};
use crate::session::Session;

const UPDATE: &str = "
    UPDATE hapax.work AS w SET wake_at = $5::int8
    FROM {n} WHERE w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination
      AND w.token = n.token AND w.state = 1
    RETURNING w.id, w.destination, w.token";

pub(crate) async fn extend(
    session: &Session,
    (holds, lease_for): &(Vec<Hold>, Duration),
) -> Result<Vec<Written>, Failure> {
    if holds.is_empty() {
        return Ok(Vec::new());
    }
    // As outcomes lock them: some of these may just be written.
    let mut sorted: Vec<&Hold> = holds.iter().collect();
    sorted.sort_unstable_by_key(|hold| {
        (
            bucket_of(hold.event),
            uuid_of(hold.event),
            hold.destination.as_str(),
        )
    });
    let until = session.begin_at().await?.plus(*lease_for);
    let batch = finish::holds(sorted.into_iter()).value(until.as_micros());
    let rows = session.over(UPDATE, &batch).await?;
    session.commit().await?;
    let extended: HashSet<(Uuid, String, i64)> = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
        .collect::<Result<_, Failure>>()?;
    Ok(holds
        .iter()
        .map(|hold| {
            let name = (
                uuid_of(hold.event),
                hold.destination.as_str().to_owned(),
                hold.token.0 as i64,
            );
            if extended.contains(&name) {
                Written::Applied
            } else {
                Written::LeaseLost
            }
        })
        .collect())
}
