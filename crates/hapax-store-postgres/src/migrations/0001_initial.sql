-- The first schema. Times are microseconds since 1970. `bucket` is one of 64, by the event's key, and leads every
-- table of events, so that they can be spread by it; `pauses`, `replays`, `audit` and `meta` are small and are not.

CREATE SCHEMA IF NOT EXISTS hapax;

CREATE TABLE hapax.meta (
    key   text COLLATE "C" PRIMARY KEY,
    value int8 NOT NULL
);

INSERT INTO hapax.meta (key, value) VALUES ('schema_version', 0), ('min_compatible', 1), ('probed_at', 0);

-- Tokens, and every other number that must only grow: it is never used twice, whatever crashes.
CREATE SEQUENCE hapax.tokens AS int8 CACHE 1;

-- One row for each identity. `stored`: some event of it is. `generation`: the last one given out; while forgotten,
-- that of the next event.
CREATE TABLE hapax.ledger (
    bucket       int2 NOT NULL,
    key          uuid NOT NULL,
    id           uuid NOT NULL,
    generation   int8 NOT NULL,
    first_seen   int8 NOT NULL,
    expires_at   int8 NOT NULL,
    forgotten    bool NOT NULL,
    stored       bool NOT NULL,
    scope        text COLLATE "C" NOT NULL,
    raw_hash     bytea NOT NULL,
    content_rule text COLLATE "C",
    content_hash bytea,
    PRIMARY KEY (bucket, key)
);

CREATE INDEX ledger_expiring ON hapax.ledger (expires_at) WHERE NOT stored;

-- Events that had an identity before it was forgotten and taken again.
CREATE TABLE hapax.earlier (
    bucket int2 NOT NULL,
    key    uuid NOT NULL,
    id     uuid NOT NULL,
    PRIMARY KEY (bucket, key, id)
);

-- Payloads. `no` orders them by acceptance.
CREATE TABLE hapax.events (
    bucket       int2 NOT NULL,
    id           uuid NOT NULL,
    no           int8 NOT NULL,
    key          uuid NOT NULL,
    generation   int8 NOT NULL,
    received_at  int8 NOT NULL,
    accepted_at  int8 NOT NULL,
    signed_at    int8,
    secret_index int4,
    batch_id     uuid,
    batch_index  int8,
    scope        text COLLATE "C" NOT NULL,
    source       text COLLATE "C" NOT NULL,
    event_id     text COLLATE "C" NOT NULL,
    type         text COLLATE "C",
    raw_hash     bytea NOT NULL,
    headers      bytea NOT NULL,
    body         bytea NOT NULL,
    PRIMARY KEY (bucket, id)
);

CREATE INDEX events_no ON hapax.events (no);
CREATE INDEX events_received ON hapax.events (source, received_at, id);

-- Unfinished deliveries only. `class`: 0 fresh, 1 running, 2 suspect, 3 waiting in its lane. `wake_at`: when it is due;
-- while running, when its lease ends. Rows change often and do not live long: room in the pages, and early vacuums.
CREATE TABLE hapax.work (
    bucket          int2 NOT NULL,
    id              uuid NOT NULL,
    destination     text COLLATE "C" NOT NULL,
    class           int2 NOT NULL,
    state           int2 NOT NULL,
    wake_at         int8 NOT NULL,
    token           int8 NOT NULL,
    attempts        int8 NOT NULL,
    lost            int8 NOT NULL,
    owner           int8,
    generation      int8 NOT NULL,
    accepted_at     int8 NOT NULL,
    idempotency_key uuid NOT NULL,
    lane            text COLLATE "C",
    lane_order      int8,
    on_dead         int2,
    replay          uuid,
    PRIMARY KEY (bucket, id, destination)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Partial, so that only who asks for what is not running can use it: a lookup by key that went through it would read
-- all of a destination's backlog.
CREATE INDEX work_due ON hapax.work (destination, class, wake_at, id) WHERE class <> 1;
CREATE INDEX work_running ON hapax.work (wake_at) WHERE class = 1;

-- Finished deliveries. `is_current` ends when a replay makes the row history; `holds` while a dead head keeps its lane.
CREATE TABLE hapax.outcomes (
    bucket          int2 NOT NULL,
    id              uuid NOT NULL,
    destination     text COLLATE "C" NOT NULL,
    token           int8 NOT NULL,
    state           int2 NOT NULL,
    is_current      bool NOT NULL,
    holds           bool NOT NULL,
    attempts        int8 NOT NULL,
    lost            int8 NOT NULL,
    finished_at     int8 NOT NULL,
    finished_no     int8 NOT NULL, -- orders endings
    generation      int8 NOT NULL,
    accepted_at     int8 NOT NULL,
    idempotency_key uuid NOT NULL,
    error           text COLLATE "C",
    lane            text COLLATE "C",
    lane_order      int8,
    on_dead         int2,
    replay          uuid,
    PRIMARY KEY (bucket, id, destination, token)
);

CREATE INDEX outcomes_ended ON hapax.outcomes (state, finished_no) WHERE is_current AND state >= 4;

-- What a destination answered may hold any character, and text columns cannot hold NUL: hence bytes.
CREATE TABLE hapax.attempts (
    bucket      int2 NOT NULL,
    id          uuid NOT NULL,
    no          int8 NOT NULL, -- orders attempts
    token       int8 NOT NULL,
    generation  int8 NOT NULL,
    started_at  int8 NOT NULL,
    duration_ms int8 NOT NULL,
    status      int4,
    destination text COLLATE "C" NOT NULL,
    error       text COLLATE "C",
    excerpt     bytea NOT NULL,
    message     bytea,
    PRIMARY KEY (bucket, id, no)
);

-- A lane's lock: who adds to a lane or ends its head holds the row. It says nothing else and may be deleted by
-- whoever holds it. The bucket is the lane's.
CREATE TABLE hapax.lanes (
    bucket      int2 NOT NULL,
    destination text COLLATE "C" NOT NULL,
    lane        text COLLATE "C" NOT NULL,
    used_at     int8 NOT NULL,
    PRIMARY KEY (bucket, destination, lane)
) WITH (fillfactor = 70);

-- Who stands in a lane: unfinished deliveries, and a dead head that holds it. `standing`: 0 waits, 1 due or running,
-- 2 dead and holding. With the lane and not with the event: whoever has the lane's lock sees all of its places, also
-- where events are on several servers, which do not all commit in the same moment.
CREATE TABLE hapax.places (
    bucket       int2 NOT NULL,
    destination  text COLLATE "C" NOT NULL,
    lane         text COLLATE "C" NOT NULL,
    lane_order   int8 NOT NULL,
    standing     int2 NOT NULL,
    event_bucket int2 NOT NULL,
    event        uuid NOT NULL,
    PRIMARY KEY (bucket, destination, lane, lane_order)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- Counts kept as sums: `kind` 0 events, 1 ledger entries of a scope. Here the bucket is the writing connection's own,
-- so that no two accepts wait for each other.
CREATE TABLE hapax.tallies (
    bucket  int2 NOT NULL,
    kind    int2 NOT NULL,
    scope   text COLLATE "C" NOT NULL,
    entries int8 NOT NULL,
    PRIMARY KEY (bucket, kind, scope)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

CREATE TABLE hapax.duplicates (
    bucket  int2 NOT NULL,
    key     uuid NOT NULL,
    copies  int8 NOT NULL,
    last_at int8 NOT NULL,
    gaps    bytea NOT NULL,
    PRIMARY KEY (bucket, key)
);

CREATE TABLE hapax.conflicts (
    bucket      int2 NOT NULL,
    first       uuid NOT NULL,
    raw_hash    bytea NOT NULL,
    no          int8 NOT NULL,
    key         uuid NOT NULL,
    received_at int8 NOT NULL,
    seen        int8 NOT NULL,
    released_as uuid,
    source      text COLLATE "C" NOT NULL,
    headers     bytea NOT NULL,
    body        bytea NOT NULL,
    PRIMARY KEY (bucket, first, raw_hash)
);

CREATE INDEX conflicts_key ON hapax.conflicts (bucket, key);

-- Bodies whose sender does not sign the id; the bucket is by the hash.
CREATE TABLE hapax.bodies (
    bucket   int2 NOT NULL,
    scope    text COLLATE "C" NOT NULL,
    raw_hash bytea NOT NULL,
    id       uuid NOT NULL,
    until    int8 NOT NULL,
    PRIMARY KEY (bucket, scope, raw_hash)
);

CREATE INDEX bodies_until ON hapax.bodies (until);

CREATE TABLE hapax.same_body (
    bucket  int2 NOT NULL,
    id      uuid NOT NULL,
    earlier uuid NOT NULL,
    PRIMARY KEY (bucket, id)
);

CREATE TABLE hapax.pauses (
    destination text COLLATE "C" PRIMARY KEY,
    at          int8 NOT NULL,
    by          text COLLATE "C" NOT NULL,
    why         text COLLATE "C" NOT NULL
);

CREATE TABLE hapax.replays (
    id         uuid PRIMARY KEY,
    state      text COLLATE "C" NOT NULL,
    changed_at int8 NOT NULL,
    job        text COLLATE "C" NOT NULL,
    owner      int8, -- who drives it, and until when
    until      int8
);

CREATE TABLE hapax.audit (
    no      int8 PRIMARY KEY,
    at      int8 NOT NULL,
    who     text COLLATE "C" NOT NULL,
    action  text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    detail  text COLLATE "C" NOT NULL
);
