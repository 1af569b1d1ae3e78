-- Owners of leases, each with when it last reported that it lives, and since when it does so without a gap. Replicas of
-- earlier versions have no row here: what they hold is theirs until their leases end.
CREATE TABLE hapax.owners (
    owner       int8 PRIMARY KEY,
    since       int8 NOT NULL,
    reported_at int8 NOT NULL
);
