//! Extending leases, each only while it is held.

use std::time::Duration;

use hapax_core::Hold;
use hapax_core::store::Written;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::finish::held;

pub(crate) fn extend(
    desk: &mut Desk<'_>,
    (holds, lease_for): &(Vec<Hold>, Duration),
) -> Result<Vec<Written>, Failure> {
    let mut answers = Vec::with_capacity(holds.len());
    for hold in holds {
        let Some(row) = held(desk, hold)? else {
            answers.push(Written::LeaseLost);
            continue;
        };
        let until = desk.moment().plus(*lease_for);
        desk.connection
            .prepare_cached("UPDATE work SET wake_at = ?3 WHERE seq = ?1 AND destination = ?2")?
            .execute((row.seq, row.destination, until.as_micros()))?;
        answers.push(Written::Applied);
    }
    Ok(answers)
}
