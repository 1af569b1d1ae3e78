-- Makes the store as new: without rows, without an origin or the mark of a migration, and with its first numbers to come.
DROP TABLE IF EXISTS hapax.import;
DELETE FROM hapax.meta WHERE key NOT IN ('schema_version', 'min_compatible', 'probed_at');
ALTER SEQUENCE hapax.tokens RESTART;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT c.relname FROM pg_class c
                WHERE c.relnamespace = 'hapax'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                  AND c.relname <> 'meta' LOOP
        EXECUTE format('DELETE FROM hapax.%I /* between two tests */', name);
    END LOOP;
END $$;
