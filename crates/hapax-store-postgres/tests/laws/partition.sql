-- Makes every table with a bucket one that is partitioned by it. A bucket is in the partition of the same number in all
-- of them, as a distributed database keeps co-located shards.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT table_name FROM information_schema.columns
                WHERE table_schema = 'hapax' AND column_name = 'bucket' LOOP
        EXECUTE format('ALTER TABLE hapax.%I RENAME TO plain', name);
        EXECUTE format('CREATE TABLE hapax.%I (LIKE hapax.plain INCLUDING ALL) PARTITION BY HASH (bucket)', name);
        DROP TABLE hapax.plain;
        FOR number IN 0..3 LOOP
            EXECUTE format('CREATE TABLE hapax.%I PARTITION OF hapax.%I FOR VALUES WITH (MODULUS 4, REMAINDER %s)',
                           name || '_part_' || number, name, number);
        END LOOP;
    END LOOP;
END $$;
