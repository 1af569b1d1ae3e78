-- Calls to other systems, written in the transaction of the business data. Hapax makes them afterwards.
CREATE TABLE IF NOT EXISTS hapax_outbox (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer        text COLLATE "C",                       -- who wrote it, while handling which event:
    scope           text COLLATE "C",                       -- for people to look at
    event_id        text COLLATE "C",
    kind            text COLLATE "C" NOT NULL DEFAULT 'http' CHECK (kind IN ('http', 'destination')),
    target          text NOT NULL,                          -- a URL, or the name of a destination
    headers         jsonb NOT NULL DEFAULT '{}',            -- {"content-type": "application/json"}
    body            bytea NOT NULL DEFAULT '',
    idempotency_key text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text,
    order_key       text COLLATE "C",                       -- rows with the same key are relayed one after the other
    state           text COLLATE "C" NOT NULL DEFAULT 'pending'
                    CHECK (state IN ('pending', 'leased', 'relayed', 'refused')),
    attempts        integer NOT NULL DEFAULT 0,
    due_at          timestamptz NOT NULL DEFAULT now(),
    lease_until     timestamptz,
    token           bigint,
    error           text,                                   -- why it was refused
    event           uuid,                                   -- what `hapax events show` calls it
    created_at      timestamptz NOT NULL DEFAULT now(),
    relayed_at      timestamptz
);

CREATE INDEX IF NOT EXISTS hapax_outbox_due ON hapax_outbox (due_at, id) WHERE state IN ('pending', 'leased');
CREATE INDEX IF NOT EXISTS hapax_outbox_order ON hapax_outbox (order_key, id)
    WHERE order_key IS NOT NULL AND state <> 'relayed';
CREATE INDEX IF NOT EXISTS hapax_outbox_relayed ON hapax_outbox (relayed_at) WHERE state = 'relayed';
CREATE INDEX IF NOT EXISTS hapax_outbox_refused ON hapax_outbox (id) WHERE state = 'refused';
