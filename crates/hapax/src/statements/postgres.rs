//! PostgreSQL: the placeholders are `$1`, `$2` and so on.

pub use crate::tables::{POSTGRES_INBOX as CREATE_INBOX, POSTGRES_OUTBOX as CREATE_OUTBOX};

/// Waits for another transaction that has inserted the same row; affects 0 rows if that one commits.
pub const CLAIM: &str = "
    INSERT INTO hapax_inbox (scope, event_id, consumer, generation, body_hash, expires_at)
    VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
    ON CONFLICT (scope, event_id, consumer, generation) DO NOTHING";

/// A separate statement: the claim may have waited for a row that its own snapshot does not show.
pub const LOOK_UP: &str = "
    SELECT body_hash FROM hapax_inbox
    WHERE scope = $1 AND event_id = $2 AND consumer = $3 AND generation = $4";

pub const EXTEND: &str = "
    UPDATE hapax_inbox SET expires_at = now() + make_interval(secs => $5)
    WHERE scope = $1 AND event_id = $2 AND consumer = $3 AND generation = $4
      AND expires_at < now() + make_interval(secs => $5)";

/// Skips rows that are locked because a replay extends them.
pub const PURGE: &str = "
    DELETE FROM hapax_inbox WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM hapax_inbox WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED))";

/// `coalesce` keeps the table's default for a call without a key.
pub const STAGE: &str = "
    INSERT INTO hapax_outbox
        (consumer, scope, event_id, kind, target, headers, body, idempotency_key, order_key)
    VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7, coalesce($8, gen_random_uuid()::text), $9)";

/// Returns the old value, and sets the new one for the rest of the transaction.
pub const SWAP_LOCK_TIMEOUT: &str =
    "SELECT current_setting('lock_timeout'), set_config('lock_timeout', $1, true)";
