-- What is known of alerts, so that each fires once and resolves once over restarts.

CREATE TABLE alerts (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
