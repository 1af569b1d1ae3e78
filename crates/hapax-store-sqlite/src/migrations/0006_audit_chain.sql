-- How an entry hangs in the chain: its number, its hash and the hash of the one before. Earlier programs write none.
ALTER TABLE audit ADD COLUMN link BLOB;

-- The ends of the chain: `head`, the last entry, and `cut`, the last one that was deleted because of its age.
CREATE TABLE audit_ends (
    name  TEXT PRIMARY KEY,
    place BLOB NOT NULL
) STRICT, WITHOUT ROWID;
