//! Proving that the store can write durably right now.

use crate::desk::Desk;
use crate::failure::Failure;

/// Writes the time, which nothing reads; the commit is the proof.
pub(crate) fn probe(desk: &mut Desk<'_>) -> Result<(), Failure> {
    let now = desk.now();
    desk.connection
        .prepare_cached("UPDATE meta SET value = ?1 WHERE key = 'probed_at'")?
        .execute([now.as_micros()])?;
    Ok(())
}
