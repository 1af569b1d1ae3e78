//! Forgetting an identity: its next event is new and has the next generation.

use hapax_core::Identity;
use hapax_core::store::Forgotten;

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{generation_at, key_bucket, key_uuid};
use crate::session::Session;

const LOCK: &str = "
    SELECT generation FROM hapax.ledger
    WHERE bucket = $1::int2 AND key = $2::uuid AND NOT forgotten FOR UPDATE";

// For all events that ever had the identity.
const UNFINISHED: &str = "
    SELECT w.id FROM hapax.ledger l JOIN hapax.work w ON w.bucket = $1::int2 AND w.id = l.id
    WHERE l.bucket = $1::int2 AND l.key = $2::uuid
    UNION ALL
    SELECT w.id FROM hapax.earlier e JOIN hapax.work w ON w.bucket = $1::int2 AND w.id = e.id
    WHERE e.bucket = $1::int2 AND e.key = $2::uuid
    LIMIT 1";

const UPDATE: &str = "
    UPDATE hapax.ledger SET forgotten = true, generation = $3::int8 WHERE bucket = $1::int2 AND key = $2::uuid";

/// Forgets an identity unless it has unfinished deliveries.
pub(crate) async fn forget(session: &Session, identity: &Identity) -> Result<Forgotten, Failure> {
    let key = identity.key();
    let (bucket, key) = (key_bucket(key), key_uuid(key));
    session.begin().await?;
    let Some(row) = session.optional(LOCK, bind![bucket, key]).await? else {
        session.commit().await?;
        return Ok(Forgotten::NotFound);
    };
    let next = generation_at(&row, 0)?.next();
    if session.optional(UNFINISHED, bind![bucket, key]).await?.is_some() {
        session.commit().await?;
        return Ok(Forgotten::Unfinished);
    }
    session
        .execute(UPDATE, bind![bucket, key, i64::from(next.0)])
        .await?;
    session.commit().await?;
    Ok(Forgotten::Done { next })
}
