-- How an entry hangs in the chain: its number, its hash and the hash of the one before. Earlier programs write none.
ALTER TABLE audit ADD COLUMN link BLOB;

-- The last entry of the chain: its number and its hash. One row.
CREATE TABLE audit_head (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    place BLOB NOT NULL
) STRICT;
