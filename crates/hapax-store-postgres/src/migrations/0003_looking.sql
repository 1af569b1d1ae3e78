-- What people look at: saved views, traffic over time, and where the few are among the many.

CREATE TABLE hapax.views (
    name  text COLLATE "C" PRIMARY KEY,
    query text COLLATE "C" NOT NULL,
    by    text COLLATE "C" NOT NULL,
    at    int8 NOT NULL
);

-- Sums of one process in one slot, as JSON.
CREATE TABLE hapax.traffic (
    span    text COLLATE "C" NOT NULL,
    slot    int8 NOT NULL,
    subject text COLLATE "C" NOT NULL,
    owner   int8 NOT NULL,
    sums    text COLLATE "C" NOT NULL,
    PRIMARY KEY (span, slot, subject, owner)
);

-- Fields that sources have indexed, and since when without interruption.
CREATE TABLE hapax.indexed_fields (
    source  text COLLATE "C" NOT NULL,
    pointer text COLLATE "C" NOT NULL,
    since   int8 NOT NULL,
    PRIMARY KEY (source, pointer)
);
