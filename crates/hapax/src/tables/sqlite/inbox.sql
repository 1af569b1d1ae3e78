-- What a consumer has applied. The row commits together with the effect, or neither does.
-- Times are milliseconds since 1970.
CREATE TABLE IF NOT EXISTS hapax_inbox (
    scope        TEXT NOT NULL,                        -- where the event's id is unique: the source's name
    event_id     TEXT NOT NULL,                        -- the sender's own id
    consumer     TEXT NOT NULL,                        -- who applied it
    generation   INTEGER NOT NULL DEFAULT 0,           -- above 0 only where it was to take effect again
    body_hash    BLOB,                                 -- SHA-256 of the raw body, where it is known
    processed_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
    expires_at   INTEGER NOT NULL DEFAULT ((CAST(strftime('%s', 'now') AS INTEGER) + 60 * 86400) * 1000),
    PRIMARY KEY (scope, event_id, consumer, generation)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS hapax_inbox_expires ON hapax_inbox (expires_at);
