-- How an entry hangs in the chain: its number, its hash and the hash of the one before. Earlier programs write none.
ALTER TABLE hapax.audit ADD COLUMN link bytea;

-- The last entry of the chain: its number and its hash. One row, which is locked by whoever adds an entry.
CREATE TABLE hapax.audit_head (one boolean PRIMARY KEY CHECK (one), place bytea NOT NULL);
