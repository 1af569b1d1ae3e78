-- The shop's own tables, beside hapax_inbox and hapax_outbox.
CREATE TABLE IF NOT EXISTS orders (
    id       text PRIMARY KEY,
    email    text NOT NULL,
    status   text NOT NULL DEFAULT 'pending',
    payments integer NOT NULL DEFAULT 0
);

-- One account, and no trace of what was added to it: adding twice could never be put right.
CREATE TABLE IF NOT EXISTS account (only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one), balance bigint NOT NULL);
INSERT INTO account (balance) VALUES (0) ON CONFLICT DO NOTHING;
