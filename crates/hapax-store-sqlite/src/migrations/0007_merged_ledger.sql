-- The same step for a new file, which no earlier version opens: the keys of the newest entries are in memory, and merged
-- into the index later, sorted, so that many of them change one page.
DROP TABLE ledger;

-- One row for each identity, appended. A number is never used twice.
CREATE TABLE ledger (
    no           INTEGER PRIMARY KEY,
    key          BLOB NOT NULL,
    scope        INTEGER NOT NULL,
    id           BLOB NOT NULL,
    generation   INTEGER NOT NULL, -- the last one given out; while forgotten, that of the next event
    first_seen   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    raw_hash     BLOB NOT NULL,
    content_rule INTEGER,
    content_hash BLOB,
    forgotten    INTEGER NOT NULL
) STRICT;

-- Where the row of a key is, for all rows up to `ledger_merged` and some of those after it.
CREATE TABLE ledger_keys (
    key BLOB PRIMARY KEY,
    no  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('ledger_merged', 0);
UPDATE meta SET value = 7 WHERE key = 'min_compatible';
