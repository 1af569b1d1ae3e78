//! Every metric with its name and meaning: the source of the help in `/metrics` and of docs/reference/metrics.md. A
//! test compares it with the metrics that are actually exported.

#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// The name in PromQL.
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    /// The help text: one line without a full stop.
    pub help: &'static str,
    /// What the metric tells an operator, and further notes.
    pub meaning: &'static str,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until the process restarts.
    Counter,
    /// The current value.
    Gauge,
    /// Counts values by size.
    Histogram,
}

impl Kind {
    /// `counter`, `gauge` or `histogram`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The help text of a metric.
pub(super) fn help(name: &str) -> &'static str {
    let found = METRICS.iter().find(|metric| metric.name == name);
    found.map_or("", |metric| metric.help)
}

const fn counter(name: &'static str, labels: &'static [&'static str]) -> Described {
    described(name, Kind::Counter, labels)
}

const fn gauge(name: &'static str, labels: &'static [&'static str]) -> Described {
    described(name, Kind::Gauge, labels)
}

const fn histogram(name: &'static str, labels: &'static [&'static str]) -> Described {
    described(name, Kind::Histogram, labels)
}

const fn described(name: &'static str, kind: Kind, labels: &'static [&'static str]) -> Described {
    Described {
        name,
        kind,
        labels,
        help: "",
        meaning: "",
    }
}

/// All metrics, in the order in which an event affects them.
pub const METRICS: &[Described] = &[
    Described {
        help: "1, labelled with the running version",
        meaning: "Two versions at the same time indicate an upgrade that is in progress or was interrupted.",
        ..gauge("hapax_build_info", &["version"])
    },
    Described {
        help: "Events and refused requests, by result",
        meaning: "`result` is `accepted`, `duplicate`, `quarantined`, `conflict` or `rejected`. Requests to a name that no \
                  source has are counted under the source `(unknown)`. A batch counts once for each event in it.",
        ..counter("hapax_received_total", &["source", "result"])
    },
    Described {
        help: "Events accepted although their id was known with another body",
        meaning: "Of sources with `on_conflict = \"accept\"`; `hapax_received_total` counts them as `accepted`, too.",
        ..counter("hapax_conflicts_accepted_total", &["source"])
    },
    Described {
        help: "Refused requests, by the code of the problem",
        meaning: "docs/reference/errors.md says what each code means and what to do.",
        ..counter("hapax_rejected_total", &["source", "reason"])
    },
    Described {
        help: "Time from the head of a request to its 2xx",
        meaning: "It includes the durable write and, with `ack = \"processed\"`, the handler. Its buckets have \
                  exemplars.",
        ..histogram("hapax_ack_seconds", &["source"])
    },
    Described {
        help: "Delay of duplicates after the first arrival",
        meaning: "Seconds indicate a provider that did not wait for the response; hours and days are retries. Its \
                  buckets have exemplars.",
        ..histogram("hapax_duplicate_age_seconds", &["source"])
    },
    Described {
        help: "Longest delay of a duplicate in the last day",
        meaning: "Of this process, to the hour. Compare it with `hapax_ledger_window_seconds`: beyond the window, a \
                  duplicate is accepted as a new event.",
        ..gauge("hapax_duplicate_gap_max_seconds", &["source"])
    },
    Described {
        help: "How long an id is remembered",
        meaning: "`ledger_window` of the configuration.",
        ..gauge("hapax_ledger_window_seconds", &["source"])
    },
    Described {
        help: "Duplicate rate over the last ten minutes",
        meaning: "Of this process, from 0 to 1. Refused requests do not count.",
        ..gauge("hapax_dedupe_ratio", &["source"])
    },
    Described {
        help: "95th percentile of the duplicate rate over the last sixty 10-second slots",
        meaning: "Of this process. A slot without requests counts as 0, so that the value rises for a series of \
                  duplicates and not for a single one.",
        ..gauge("hapax_dedupe_ratio_p95", &["source"])
    },
    Described {
        help: "Ids that are remembered",
        meaning: "Of the whole store, so every replica reports the same. `source` is the scope of the ids, which is \
                  the source's name by default.",
        ..gauge("hapax_ledger_entries", &["source"])
    },
    Described {
        help: "Attempts, by outcome",
        meaning: "`outcome` is `completed`, `retry`, `dead` or `released` (not tried, because the process stopped or \
                  the destination asked to wait).",
        ..counter("hapax_attempts_total", &["destination", "outcome"])
    },
    Described {
        help: "Duration of one attempt",
        meaning: "How long the handler takes. Its buckets have exemplars.",
        ..histogram("hapax_attempt_seconds", &["destination"])
    },
    Described {
        help: "95th percentile of attempt durations over the last ten minutes",
        meaning: "Of this process, exact to a hundredth; absent without attempts.",
        ..gauge("hapax_attempt_p95_seconds", &["destination"])
    },
    Described {
        help: "Unfinished deliveries, by state",
        meaning: "Of the whole store, so every replica reports the same: use the maximum, not the sum. `state` is \
                  `pending`, `running`, `retrying`, `dead` or `discarded`.",
        ..gauge("hapax_backlog", &["destination", "state"])
    },
    Described {
        help: "Age of the oldest unfinished delivery",
        meaning: "Of the whole store. Paused and held deliveries count, too. Absent if no delivery is unfinished.",
        ..gauge("hapax_oldest_pending_seconds", &["destination"])
    },
    Described {
        help: "1 while deliveries to a failing destination are suspended",
        meaning: "Each replica has its own breaker.",
        ..gauge("hapax_breaker_open", &["destination"])
    },
    Described {
        help: "1 while an outbox is relayed and its table can be read, otherwise 0",
        meaning: "Of this process. At 0, its rows wait in their database, which is down or lacks a privilege. The log \
                  and `hapax doctor` say which.",
        ..gauge("hapax_outbox_up", &["outbox"])
    },
    Described {
        help: "Rows of an outbox, by state",
        meaning: "Of the whole table, so every replica reports the same: use the maximum, not the sum. `state` is \
                  `pending`, `leased`, `relayed` (until `retention` deletes them) or `refused`. Each is counted up to \
                  1,000,000, every 5 s or less often; while the table cannot be read, the last count is reported.",
        ..gauge("hapax_outbox_rows", &["outbox", "state"])
    },
    Described {
        help: "Age of the oldest row of an outbox that waits to be relayed",
        meaning: "Of the whole table. Rows that wait behind a refused one with the same `order_key` count, too. Absent \
                  if no row waits.",
        ..gauge("hapax_outbox_oldest_seconds", &["outbox"])
    },
    Described {
        help: "Outbox rows processed by this process, by result",
        meaning: "`result` is `relayed`, `refused` or `later` (the store could not accept the row yet).",
        ..counter("hapax_outbox_relay_results_total", &["outbox", "result"])
    },
    Described {
        help: "Requests answered with a 5xx status, by the code of the problem",
        meaning: "Providers were refused and retry later. `shutting_down` belongs to a restart; `handler_failed` and \
                  `in_flight` belong to `ack = \"processed\"`.",
        ..counter("hapax_unavailable_total", &["reason"])
    },
    Described {
        help: "Events in one durable write",
        meaning: "It grows under load: that is how the store keeps up.",
        ..histogram("hapax_store_batch_size", &[])
    },
    Described {
        help: "Duration of one durable write",
        meaning: "Every response to a provider waits for one.",
        ..histogram("hapax_store_write_seconds", &[])
    },
    Described {
        help: "Time since the command of a secret last succeeded",
        meaning: "Only for `exec:` secrets; `secret` is the key, such as `sources.stripe.secrets.0`. It grows while \
                  the command fails and the previous value stays in use: alert if it is several times \
                  `server.secret_refresh`.",
        ..gauge("hapax_secret_age_seconds", &["secret"])
    },
    Described {
        help: "Connections whose TLS handshake failed",
        meaning: "`listener` is `ingest` or `admin`. The client does not trust the certificate, or has none although \
                  `client_ca` requires one; the log has the reason. Stays at 0 unless `[server.tls]` is configured.",
        ..counter("hapax_tls_handshake_failures_total", &["listener"])
    },
    Described {
        help: "Changed certificates and keys, by result",
        meaning: "`result` is `loaded` or `failed`. After a failure, the previous ones are served until they expire; \
                  the log has the reason.",
        ..counter("hapax_tls_reloads_total", &["listener", "result"])
    },
    Described {
        help: "Encrypted values, by key",
        meaning: "As counted by the last walk over all rows, before it re-encrypted them with the first key of \
                  `store.encryption_keys`; `plain` counts values that were not encrypted. A key without values can be \
                  removed. Of the whole store, so every replica reports the same.",
        ..gauge("hapax_encrypted_values", &["key"])
    },
    Described {
        help: "Values that this process has re-encrypted with the first key",
        meaning: "It grows after encryption is enabled and after a key rotation.",
        ..counter("hapax_reencrypted_values_total", &[])
    },
    Described {
        help: "Trace spans, by export result",
        meaning: "`result` is `exported`, `dropped` (the buffer was full: telemetry never slows down accepts) or \
                  `failed` (the receiver did not accept them). All stay at 0 unless `[traces]` is configured.",
        ..counter("hapax_spans_total", &["result"])
    },
    Described {
        help: "1 for each firing alert",
        meaning: "Of the whole store, so every replica reports the same: use the maximum, not the sum. `alert` is a \
                  rule of `[alerts]`, `subject` a source, a destination, an outbox or `store`.",
        ..gauge("hapax_alert_firing", &["alert", "subject"])
    },
    Described {
        help: "Alert messages, by receiver and result",
        meaning: "`result` is `delivered` or `failed`; failed messages are retried.",
        ..counter("hapax_alert_messages_total", &["receiver", "result"])
    },
];
