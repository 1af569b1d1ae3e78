-- What people look at: saved views, traffic over time, and where the few are among the many.

CREATE TABLE views (
    name  TEXT PRIMARY KEY,
    query TEXT NOT NULL,
    by    TEXT NOT NULL,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sums of one process in one slot, as JSON.
CREATE TABLE traffic (
    span    TEXT NOT NULL,
    slot    INTEGER NOT NULL,
    subject TEXT NOT NULL,
    owner   INTEGER NOT NULL,
    sums    TEXT NOT NULL,
    PRIMARY KEY (span, slot, subject, owner)
) STRICT, WITHOUT ROWID;

-- Fields that sources have indexed, and since when without interruption.
CREATE TABLE indexed_fields (
    source  TEXT NOT NULL,
    pointer TEXT NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (source, pointer)
) STRICT, WITHOUT ROWID;

-- Dead letters by where to and why: counting them touches nothing else.
CREATE INDEX outcomes_why ON outcomes (destination, error, seq, finished_no, finished_at)
    WHERE current = 1 AND state = 4;

-- Events by where they come from and what they are, in the order of lists.
CREATE INDEX events_kind ON events (source, ifnull(type, ''));

-- Events that have something few have, in the order of lists. `what`: 0 copies, 1 another body under the same id.
CREATE TABLE noted (
    what INTEGER NOT NULL,
    seq  INTEGER NOT NULL,
    PRIMARY KEY (what, seq)
) STRICT, WITHOUT ROWID;

INSERT INTO noted (what, seq)
    SELECT 0, seq FROM events WHERE id IN (SELECT l.id FROM duplicates d JOIN ledger l ON l.key = d.key
                                           UNION SELECT r.id FROM duplicates d JOIN earlier r ON r.key = d.key);
INSERT INTO noted (what, seq) SELECT 1, seq FROM events WHERE id IN (SELECT first FROM conflicts);

-- Values of indexed fields: `pointer` is a number of `names`, `digest` the beginning of the value's SHA-256.
CREATE TABLE indexed (
    pointer INTEGER NOT NULL,
    digest  INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (pointer, digest, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX indexed_seq ON indexed (seq);
