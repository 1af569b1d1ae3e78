-- The shop's own tables. Hapax makes hapax_inbox beside them.
CREATE TABLE IF NOT EXISTS orders (
    id     text PRIMARY KEY,
    email  text NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    amount bigint
);

CREATE TABLE IF NOT EXISTS account (name text PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO account (name, balance) VALUES ('shop', 0) ON CONFLICT DO NOTHING;
