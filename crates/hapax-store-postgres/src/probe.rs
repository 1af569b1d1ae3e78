//! Proving that the store can write durably right now.

use crate::bind::bind;
use crate::failure::Failure;
use crate::session::Session;

const UPDATE: &str = "UPDATE hapax.meta SET value = $1::int8 WHERE key = 'probed_at'";

/// Writes the time, which nothing reads; the commit is the proof.
pub(crate) async fn probe(session: &Session) -> Result<(), Failure> {
    let now = session.begin_at().await?;
    session.execute(UPDATE, bind![now.as_micros()]).await?;
    session.commit().await
}
