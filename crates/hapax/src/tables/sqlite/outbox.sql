-- Calls to other systems, written in the transaction of the business data. Hapax makes them afterwards.
-- Times are milliseconds since 1970.
CREATE TABLE IF NOT EXISTS hapax_outbox (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    consumer        TEXT,                                   -- who wrote it, while handling which event:
    scope           TEXT,                                   -- for people to look at
    event_id        TEXT,
    kind            TEXT NOT NULL DEFAULT 'http' CHECK (kind IN ('http', 'destination')),
    target          TEXT NOT NULL,                          -- a URL, or the name of a destination
    headers         TEXT NOT NULL DEFAULT '{}',             -- {"content-type": "application/json"}
    body            BLOB NOT NULL DEFAULT '',
    idempotency_key TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
    order_key       TEXT,                                   -- rows with the same key are relayed one after the other
    state           TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'leased', 'relayed', 'refused')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    due_at          INTEGER NOT NULL DEFAULT 0,
    lease_until     INTEGER,
    token           INTEGER,
    error           TEXT,                                   -- why it was refused
    event           TEXT,                                   -- what `hapax events show` calls it
    created_at      INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
    relayed_at      INTEGER
);

CREATE INDEX IF NOT EXISTS hapax_outbox_due ON hapax_outbox (due_at, id) WHERE state IN ('pending', 'leased');
CREATE INDEX IF NOT EXISTS hapax_outbox_order ON hapax_outbox (order_key, id)
    WHERE order_key IS NOT NULL AND state <> 'relayed';
CREATE INDEX IF NOT EXISTS hapax_outbox_relayed ON hapax_outbox (relayed_at) WHERE state = 'relayed';
CREATE INDEX IF NOT EXISTS hapax_outbox_refused ON hapax_outbox (id) WHERE state = 'refused';
