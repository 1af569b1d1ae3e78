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

-- Events that have something few have, in the order of lists. `what`: 0 copies, 1 another body under the same id.
CREATE TABLE hapax.noted (
    bucket int2 NOT NULL,
    id     uuid NOT NULL,
    what   int2 NOT NULL,
    no     int8 NOT NULL,
    PRIMARY KEY (bucket, id, what)
);

CREATE INDEX noted_no ON hapax.noted (what, no);

INSERT INTO hapax.noted (bucket, id, what, no)
    SELECT e.bucket, e.id, 0, e.no
    FROM (SELECT l.bucket, l.id FROM hapax.duplicates d JOIN hapax.ledger l ON l.bucket = d.bucket AND l.key = d.key
          UNION
          SELECT r.bucket, r.id FROM hapax.duplicates d JOIN hapax.earlier r ON r.bucket = d.bucket AND r.key = d.key) AS i
    JOIN hapax.events e ON e.bucket = i.bucket AND e.id = i.id;

INSERT INTO hapax.noted (bucket, id, what, no)
    SELECT DISTINCT e.bucket, e.id, 1, e.no
    FROM hapax.conflicts c JOIN hapax.events e ON e.bucket = c.bucket AND e.id = c.first;

-- Values of indexed fields: `digest` is the beginning of the value's SHA-256.
CREATE TABLE hapax.indexed (
    bucket  int2 NOT NULL,
    id      uuid NOT NULL,
    digest  int8 NOT NULL,
    no      int8 NOT NULL,
    pointer text COLLATE "C" NOT NULL,
    PRIMARY KEY (bucket, id, pointer, digest)
);

CREATE INDEX indexed_no ON hapax.indexed (pointer, digest, no);
