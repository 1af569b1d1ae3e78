-- Leaves nothing in the store but its version.
DROP TABLE IF EXISTS hapax.import;
DELETE FROM hapax.meta WHERE key = 'origin';
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT c.relname FROM pg_class c
                WHERE c.relnamespace = 'hapax'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                  AND c.relname <> 'meta' LOOP
        EXECUTE format('DELETE FROM hapax.%I', name);
    END LOOP;
END $$;
