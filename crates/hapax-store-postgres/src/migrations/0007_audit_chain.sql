-- How an entry hangs in the chain: its number, its hash and the hash of the one before. Earlier programs write none.
ALTER TABLE hapax.audit ADD COLUMN link bytea;

-- The ends of the chain: `head`, the last entry, whose row whoever adds one holds, and `cut`, the last one that was
-- deleted because of its age.
CREATE TABLE hapax.audit_ends (name text COLLATE "C" PRIMARY KEY, place bytea);
