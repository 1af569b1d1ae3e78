-- Where the row of a key is. An existing file keeps the unique index of its ledger, so that the version before this one
-- can still open it.
CREATE VIEW ledger_keys AS SELECT key, no FROM ledger;
