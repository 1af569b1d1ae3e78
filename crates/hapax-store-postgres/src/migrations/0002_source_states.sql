-- Small values that sources keep besides their events, such as secrets that senders handed over.

CREATE TABLE hapax.source_states (
    source text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  bytea NOT NULL,
    PRIMARY KEY (source, name)
);
