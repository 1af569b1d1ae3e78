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
