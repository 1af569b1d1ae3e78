//! Dead letters by destination and error, read from the index of failed outcomes: the cost follows the number of dead
//! letters.

use std::collections::HashMap;

use hapax_core::EventId;
use hapax_core::store::DeadGroup;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::rows::{error_at, id_at, time_at};
use crate::session::Session;

/// The maximum number of groups in one answer.
const GROUPS_MAX: u32 = 1_000;

const SELECT: &str = "
    SELECT destination, error, count(*), min(finished_at), max(finished_at), max(finished_no)
    FROM hapax.outcomes /* every bucket */
    WHERE is_current AND state >= 4 AND state = 4
    GROUP BY destination, error ORDER BY count(*) DESC, destination, error NULLS FIRST LIMIT $1::int8";

const LAST: &str = "
    SELECT finished_no, id FROM hapax.outcomes /* every bucket */
    WHERE is_current AND state >= 4 AND state = 4 AND finished_no = ANY ($1::int8[])";

/// The groups, largest first.
pub(crate) async fn dead_groups(session: &Session, limit: u32) -> Result<Vec<DeadGroup>, Failure> {
    session.begin_reading().await?;
    let rows = session
        .rows(SELECT, bind![i64::from(limit.min(GROUPS_MAX))])
        .await?;
    let numbers: Column<i64> = rows.iter().map(|row| row.try_get(5)).collect::<Result<_, _>>()?;
    let mut last: HashMap<i64, EventId> = HashMap::with_capacity(rows.len());
    for row in &session.rows(LAST, bind![numbers]).await? {
        last.insert(row.try_get(0)?, id_at(row, 1)?);
    }
    session.commit().await?;
    let mut groups = Vec::with_capacity(rows.len());
    for row in &rows {
        let Some(last) = last.get(&row.try_get(5)?) else {
            continue;
        };
        groups.push(DeadGroup {
            destination: row.try_get::<_, &str>(0)?.into(),
            error: error_at(row, 1)?,
            count: row.try_get::<_, i64>(2)? as u64,
            first_at: time_at(row, 3)?,
            last_at: time_at(row, 4)?,
            last: *last,
        });
    }
    Ok(groups)
}
