-- The first schema. Times are microseconds since 1970; names are numbers of `names`.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY
) STRICT, WITHOUT ROWID;

-- The oldest schema version whose program may still open this file.
INSERT INTO meta (key, value) VALUES ('min_compatible', 1), ('token_reserved', 1), ('probed_at', 0), ('skew_ms', 1024);

-- Scopes, sources, destinations and content rules, each once.
CREATE TABLE names (
    no   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- One row for each identity, appended. Keys are random, so that only their index, a third of the
-- size, is written all over: fewer pages to read, log and copy for each accept than if the rows lay there.
CREATE TABLE ledger (
    no           INTEGER PRIMARY KEY,
    key          BLOB NOT NULL UNIQUE,
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

-- Ledger entries whose event is gone, by when they may go too: filled when a payload is deleted,
-- so that neither an accept nor a purge ever walks the ledger.
CREATE TABLE expiring (
    expires_at INTEGER NOT NULL,
    key        BLOB NOT NULL,
    PRIMARY KEY (expires_at, key)
) STRICT, WITHOUT ROWID;

-- Events that had an identity before it was forgotten and taken again.
CREATE TABLE earlier (
    key BLOB NOT NULL,
    id  BLOB NOT NULL,
    PRIMARY KEY (key, id)
) STRICT, WITHOUT ROWID;

-- Payloads, appended: `seq` is the order of the event's id.
CREATE TABLE events (
    seq          INTEGER PRIMARY KEY,
    id           BLOB NOT NULL,
    scope        INTEGER NOT NULL,
    source       INTEGER NOT NULL,
    generation   INTEGER NOT NULL,
    received_at  INTEGER NOT NULL,
    accepted_at  INTEGER NOT NULL,
    event_id     TEXT NOT NULL,
    type         TEXT,
    signed_at    INTEGER,
    secret_index INTEGER,
    raw_hash     BLOB NOT NULL,
    batch_id     BLOB,
    batch_index  INTEGER,
    headers      BLOB NOT NULL,
    body         BLOB NOT NULL
) STRICT;

-- Unfinished deliveries only. `class`: 0 fresh, 1 running, 2 suspect, 3 waiting in its lane.
-- `wake_at`: when it is due; while running, when its lease ends.
CREATE TABLE work (
    seq             INTEGER NOT NULL,
    destination     INTEGER NOT NULL,
    class           INTEGER NOT NULL,
    wake_at         INTEGER NOT NULL,
    state           INTEGER NOT NULL,
    token           INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    lost            INTEGER NOT NULL,
    owner           INTEGER,
    generation      INTEGER NOT NULL,
    idempotency_key BLOB NOT NULL,
    lane            TEXT,
    lane_order      INTEGER,
    on_dead         INTEGER,
    replay          BLOB,
    PRIMARY KEY (seq, destination)
) STRICT, WITHOUT ROWID;

CREATE INDEX work_due ON work (destination, class, wake_at);
CREATE INDEX work_lane ON work (destination, lane, lane_order) WHERE lane IS NOT NULL;

-- Finished deliveries. `current` is 0 once a replay made the row history; `holds` is 1 while a
-- dead head keeps its lane waiting.
CREATE TABLE outcomes (
    seq             INTEGER NOT NULL,
    destination     INTEGER NOT NULL,
    token           INTEGER NOT NULL,
    state           INTEGER NOT NULL,
    current         INTEGER NOT NULL,
    holds           INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    lost            INTEGER NOT NULL,
    finished_at     INTEGER NOT NULL,
    finished_no     INTEGER NOT NULL, -- orders endings
    error           TEXT,
    generation      INTEGER NOT NULL,
    idempotency_key BLOB NOT NULL,
    lane            TEXT,
    lane_order      INTEGER,
    on_dead         INTEGER,
    replay          BLOB,
    PRIMARY KEY (seq, destination, token)
) STRICT, WITHOUT ROWID;

CREATE INDEX outcomes_ended ON outcomes (state, finished_no, destination, seq) WHERE current = 1 AND state >= 4;
CREATE INDEX outcomes_dead ON outcomes (seq) WHERE current = 1 AND state = 4;
CREATE INDEX outcomes_hold ON outcomes (destination, lane) WHERE holds = 1;

CREATE TABLE attempts (
    seq         INTEGER NOT NULL,
    no          INTEGER NOT NULL, -- orders attempts
    destination INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    status      INTEGER,
    error       TEXT,
    excerpt     TEXT NOT NULL,
    message     TEXT,
    PRIMARY KEY (seq, no)
) STRICT, WITHOUT ROWID;

-- Ledger entries of each scope; under 0, the events.
CREATE TABLE tallies (
    scope   INTEGER PRIMARY KEY,
    entries INTEGER NOT NULL
) STRICT;

CREATE TABLE duplicates (
    key     BLOB PRIMARY KEY,
    copies  INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    gaps    BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE conflicts (
    no          INTEGER PRIMARY KEY,
    first       BLOB NOT NULL,
    raw_hash    BLOB NOT NULL,
    key         BLOB NOT NULL,
    source      INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    seen        INTEGER NOT NULL,
    released_as BLOB,
    headers     BLOB NOT NULL,
    body        BLOB NOT NULL,
    UNIQUE (first, raw_hash)
) STRICT;

CREATE INDEX conflicts_key ON conflicts (key);

CREATE TABLE bodies (
    scope    INTEGER NOT NULL,
    raw_hash BLOB NOT NULL,
    id       BLOB NOT NULL,
    until    INTEGER NOT NULL,
    PRIMARY KEY (scope, raw_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX bodies_until ON bodies (until);

CREATE TABLE same_body (
    id      BLOB PRIMARY KEY,
    earlier BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pauses (
    destination INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    by          TEXT NOT NULL,
    why         TEXT NOT NULL
) STRICT;

CREATE TABLE replays (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    state      TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    job        TEXT NOT NULL
) STRICT;

CREATE TABLE audit (
    no      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    who     TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail  TEXT NOT NULL
) STRICT;
