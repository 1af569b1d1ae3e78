-- What is known of alerts, so that each fires once and resolves once over restarts and over replicas.

CREATE TABLE hapax.alerts (
    name  text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);
