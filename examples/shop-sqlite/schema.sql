-- The shop's own tables, beside hapax_inbox and hapax_outbox.
CREATE TABLE IF NOT EXISTS orders (
    id       TEXT PRIMARY KEY,
    email    TEXT NOT NULL,
    status   TEXT NOT NULL DEFAULT 'pending',
    payments INTEGER NOT NULL DEFAULT 0
);

-- One account, and no trace of what was added to it: adding twice could never be put right.
CREATE TABLE IF NOT EXISTS account (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), balance INTEGER NOT NULL);
INSERT OR IGNORE INTO account (only_one, balance) VALUES (1, 0);
