//! Hastening an event: deliveries that wait for a retry become due now.

use hapax_core::{DeliveryState, EventId};

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{Class, bucket_of, state_code, uuid_of};
use crate::session::Session;

const UPDATE: &str = "
    UPDATE hapax.work AS w SET wake_at = least(w.wake_at, $3::int8)
    WHERE w.bucket = $1::int2 AND w.id = $2::uuid AND w.state = $4::int2 AND w.class + 0 <> $5::int2
    RETURNING w.destination";

/// Makes retries due now. Returns how many.
pub(crate) async fn hasten(session: &Session, event: EventId) -> Result<u32, Failure> {
    let now = session.begin_at().await?;
    let rows = session
        .rows(
            UPDATE,
            bind![
                bucket_of(event),
                uuid_of(event),
                now.as_micros(),
                state_code(DeliveryState::Retrying),
                Class::Waiting.code(),
            ],
        )
        .await?;
    session.commit().await?;
    Ok(u32::try_from(rows.len()).unwrap_or(u32::MAX))
}
