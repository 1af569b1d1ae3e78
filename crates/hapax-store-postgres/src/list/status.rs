//! The status of the events in a list.

use std::collections::HashMap;

use futures_util::future::join;
use hapax_core::EventStatus;
use uuid::Uuid;

use super::found::Found;
use crate::batch::Batch;
use crate::failure::Failure;
use crate::session::Session;

// Whether an attempt has ended; the running one has not.
const WORK: &str = "
    SELECT w.id, bool_or(w.attempts > CASE WHEN w.state = 1 THEN 1 ELSE 0 END)
    FROM {n} JOIN hapax.work w ON w.bucket = {bucket} AND w.id = n.id GROUP BY w.id";

const OUTCOMES: &str = "
    SELECT o.id, bool_or(o.state = 4 AND o.error IS DISTINCT FROM 'same_body'), bool_or(o.state = 4)
    FROM {n} JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id WHERE o.is_current GROUP BY o.id";

/// The status of each event that has deliveries.
pub(super) async fn of(session: &Session, events: &[Found]) -> Result<HashMap<Uuid, EventStatus>, Failure> {
    let batch = Batch::in_buckets(events.iter().map(|event| event.bucket))
        .column("id", events.iter().map(|event| event.id));
    let (work, outcomes) = join(session.over(WORK, &batch), session.over(OUTCOMES, &batch)).await;
    let mut statuses = HashMap::with_capacity(events.len());
    for row in outcomes? {
        let (id, dead, held): (Uuid, bool, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let status = if dead {
            EventStatus::Dead
        } else if held {
            EventStatus::Held
        } else {
            EventStatus::Completed
        };
        statuses.insert(id, status);
    }
    // Unfinished deliveries decide, whatever has ended.
    for row in work? {
        let (id, failed): (Uuid, bool) = (row.try_get(0)?, row.try_get(1)?);
        let status = if failed {
            EventStatus::Failed
        } else {
            EventStatus::Pending
        };
        statuses.insert(id, status);
    }
    Ok(statuses)
}
