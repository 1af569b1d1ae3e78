-- Small values that sources keep besides their events, such as secrets that senders handed over.

CREATE TABLE source_states (
    source TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  BLOB NOT NULL,
    PRIMARY KEY (source, name)
) STRICT, WITHOUT ROWID;
