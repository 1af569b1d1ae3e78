//! SQLite: the placeholders are `?1`, `?2` and so on.

pub use crate::tables::{SQLITE_INBOX as CREATE_INBOX, SQLITE_OUTBOX as CREATE_OUTBOX};

/// Times are milliseconds since 1970.
pub const CLAIM: &str = "
    INSERT INTO hapax_inbox (scope, event_id, consumer, generation, body_hash, expires_at)
    VALUES (?1, ?2, ?3, ?4, ?5, (CAST(strftime('%s', 'now') AS INTEGER) + ?6) * 1000)
    ON CONFLICT (scope, event_id, consumer, generation) DO NOTHING";

pub const LOOK_UP: &str = "
    SELECT body_hash FROM hapax_inbox
    WHERE scope = ?1 AND event_id = ?2 AND consumer = ?3 AND generation = ?4";

pub const EXTEND: &str = "
    UPDATE hapax_inbox
    SET expires_at = max(expires_at, (CAST(strftime('%s', 'now') AS INTEGER) + ?5) * 1000)
    WHERE scope = ?1 AND event_id = ?2 AND consumer = ?3 AND generation = ?4";

pub const PURGE: &str = "
    DELETE FROM hapax_inbox WHERE (scope, event_id, consumer, generation) IN (
        SELECT scope, event_id, consumer, generation FROM hapax_inbox
        WHERE expires_at < CAST(strftime('%s', 'now') AS INTEGER) * 1000 LIMIT ?1)";

pub const STAGE: &str = "
    INSERT INTO hapax_outbox
        (consumer, scope, event_id, kind, target, headers, body, idempotency_key, order_key)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce(?8, lower(hex(randomblob(16)))), ?9)";
