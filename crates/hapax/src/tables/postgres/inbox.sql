-- What a consumer has applied. The row commits together with the effect, or neither does.
CREATE TABLE IF NOT EXISTS hapax_inbox (
    scope        text COLLATE "C" NOT NULL,            -- where the event's id is unique: the source's name
    event_id     text COLLATE "C" NOT NULL,            -- the sender's own id
    consumer     text COLLATE "C" NOT NULL,            -- who applied it
    generation   integer NOT NULL DEFAULT 0,           -- above 0 only where it was to take effect again
    body_hash    bytea,                                -- SHA-256 of the raw body, where it is known
    processed_at timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL DEFAULT now() + interval '60 days',
    PRIMARY KEY (scope, event_id, consumer, generation)
);

-- For the purge. Not BRIN, which forgets no value that a page ever had: once pages are used again, all look expired.
CREATE INDEX IF NOT EXISTS hapax_inbox_expires ON hapax_inbox (expires_at);
