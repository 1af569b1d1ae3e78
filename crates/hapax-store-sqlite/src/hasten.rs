//! Hastening an event: deliveries that wait for a retry become due now.

use hapax_core::{DeliveryState, EventId};

use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::rows::{Class, state_code};

/// Makes retries due now. Returns how many.
pub(crate) fn hasten(desk: &mut Desk<'_>, event: EventId) -> Result<u32, Failure> {
    let Some(seq) = find_event(desk.connection, event)? else {
        return Ok(0);
    };
    let hastened = desk
        .connection
        .prepare_cached(
            "UPDATE work SET wake_at = min(wake_at, ?2) WHERE seq = ?1 AND state = ?3 AND class <> ?4",
        )?
        .execute((
            seq,
            desk.moment().as_micros(),
            state_code(DeliveryState::Retrying),
            Class::Waiting.code(),
        ))?;
    Ok(u32::try_from(hastened).unwrap_or(u32::MAX))
}
