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
        help: "1, with the version that runs",
        meaning: "Two versions at one time are an upgrade that is under way, or one that stopped half way.",
        ..gauge("hapax_build_info", &["version"])
    },
    Described {
        help: "Events and refused requests, by what they were",
        meaning: "`result` is `accepted`, `duplicate`, `quarantined`, `conflict` or `rejected`. Requests to a name that no \
                  source has are counted under the source `(unknown)`. A batch counts once for each event in it.",
        ..counter("hapax_received_total", &["source", "result"])
    },
    Described {
        help: "Events accepted although their id was known with another content",
        meaning: "Of sources with `on_conflict = \"accept\"`; `hapax_received_total` counts them as `accepted`, too.",
        ..counter("hapax_conflicts_accepted_total", &["source"])
    },
    Described {
        help: "Refused requests, by the code of the problem",
        meaning: "docs/reference/errors.md says what each code means and what to do.",
        ..counter("hapax_rejected_total", &["source", "reason"])
    },
    Described {
        help: "From the head of a request to its 2xx",
        meaning: "The durable write is in it, and with `ack = \"processed\"` the handler too. Its buckets have exemplars.",
        ..histogram("hapax_ack_seconds", &["source"])
    },
    Described {
        help: "How long after the first a copy came",
        meaning: "Seconds are a sender that did not wait for the answer; hours and days are its retries. Its buckets have \
                  exemplars.",
        ..histogram("hapax_duplicate_age_seconds", &["source"])
    },
    Described {
        help: "How long after the first the latest copy of the last day came",
        meaning: "Of this process, to the hour. Set it against `hapax_ledger_window_seconds`: beyond the window a copy is \
                  taken for a new event.",
        ..gauge("hapax_duplicate_gap_max_seconds", &["source"])
    },
    Described {
        help: "How long an id is remembered",
        meaning: "`ledger_window` of the configuration.",
        ..gauge("hapax_ledger_window_seconds", &["source"])
    },
    Described {
        help: "Share of copies among the events of the last ten minutes",
        meaning: "Of this process, from 0 to 1. Refused requests are no events.",
        ..gauge("hapax_dedupe_ratio", &["source"])
    },
    Described {
        help: "95th percentile of the shares of copies in the last sixty ten seconds",
        meaning: "Of this process. Ten seconds in which nothing came count as 0, so that it rises when copies keep coming \
                  and not for a single one.",
        ..gauge("hapax_dedupe_ratio_p95", &["source"])
    },
    Described {
        help: "Ids that are remembered",
        meaning: "Of the whole store, so every replica says the same. `source` is the scope of the ids, which is the \
                  source's name unless the configuration says otherwise.",
        ..gauge("hapax_ledger_entries", &["source"])
    },
    Described {
        help: "Attempts, by what followed",
        meaning: "`outcome` is `completed`, `retry`, `dead` or `released` (given back untried, because the process stopped \
                  or the destination asked to wait).",
        ..counter("hapax_attempts_total", &["destination", "outcome"])
    },
    Described {
        help: "Time of one attempt",
        meaning: "How long the handler takes. Its buckets have exemplars.",
        ..histogram("hapax_attempt_seconds", &["destination"])
    },
    Described {
        help: "95th percentile of the times of attempts in the last ten minutes",
        meaning: "Of this process, exact to a hundredth; not there while there were no attempts.",
        ..gauge("hapax_attempt_p95_seconds", &["destination"])
    },
    Described {
        help: "Deliveries that are not done, by state",
        meaning: "Of the whole store, so every replica says the same: take the largest, not the sum. `state` is `pending`, \
                  `running`, `retrying`, `dead` or `discarded`.",
        ..gauge("hapax_backlog", &["destination", "state"])
    },
    Described {
        help: "Age of the oldest unfinished delivery",
        meaning: "Of the whole store. What is paused or held counts too: nobody works on it, whatever the reason. Not \
                  there while everything is done.",
        ..gauge("hapax_oldest_pending_seconds", &["destination"])
    },
    Described {
        help: "1 while a destination gets nothing because it keeps failing",
        meaning: "Each replica has a breaker of its own.",
        ..gauge("hapax_breaker_open", &["destination"])
    },
    Described {
        help: "1 while an outbox is relayed and its table can be read, else 0",
        meaning: "Of this process. At 0 its rows wait in their own database: that is down, or a right is missing. The log and \
                  `hapax doctor` say which.",
        ..gauge("hapax_outbox_up", &["outbox"])
    },
    Described {
        help: "Rows of an outbox, by state",
        meaning: "Of the whole table, so every replica says the same: take the largest, not the sum. `state` is `pending`, \
                  `leased`, `relayed` (until `retention` deletes them) or `refused`. Each is counted up to 1,000,000, every 5 s \
                  or less often; while the table cannot be read, it is what was counted last.",
        ..gauge("hapax_outbox_rows", &["outbox", "state"])
    },
    Described {
        help: "Age of the oldest row of an outbox that waits to be relayed",
        meaning: "Of the whole table. Rows that wait behind a refused one of their `order_key` count too. Not there while \
                  nothing waits.",
        ..gauge("hapax_outbox_oldest_seconds", &["outbox"])
    },
    Described {
        help: "Rows of an outbox that this process took, by what came of it",
        meaning: "`result` is `relayed`, `refused` or `later` (the store could not take it at the moment).",
        ..counter("hapax_outbox_relay_results_total", &["outbox", "result"])
    },
    Described {
        help: "Requests answered 503, by the code of the problem",
        meaning: "Senders were turned away and try again later. `shutting_down` belongs to a restart; `handler_failed` and \
                  `in_flight` belong to `ack = \"processed\"`.",
        ..counter("hapax_unavailable_total", &["reason"])
    },
    Described {
        help: "Events in one durable write",
        meaning: "It grows under load: that is how the store keeps up.",
        ..histogram("hapax_store_batch_size", &[])
    },
    Described {
        help: "Time of one durable write",
        meaning: "Every answer to a sender waits for one.",
        ..histogram("hapax_store_write_seconds", &[])
    },
    Described {
        help: "How long ago the command of a secret last printed it",
        meaning: "Only for `exec:` secrets; `secret` is the key, such as `sources.stripe.secrets.0`. It grows while the \
                  command fails, and the last value stays in use: alert where it is a few times `server.secret_refresh`.",
        ..gauge("hapax_secret_age_seconds", &["secret"])
    },
    Described {
        help: "Connections whose TLS handshake failed",
        meaning: "`listener` is `ingest` or `admin`. A client that does not trust the certificate, or has none where \
                  `client_ca` asks for one; the log has the reason. Stays at 0 unless `[server.tls]` is configured.",
        ..counter("hapax_tls_handshake_failures_total", &["listener"])
    },
    Described {
        help: "Changed certificates and keys, by whether they could be used",
        meaning: "`result` is `loaded` or `failed`. After a failure the old ones are still served, until they expire: look at \
                  the log, which has the reason.",
        ..counter("hapax_tls_reloads_total", &["listener", "result"])
    },
    Described {
        help: "Values that are encrypted, by key",
        meaning: "As the last walk over all rows found them, before it brought them under the first key of \
                  `store.encryption_keys`; `plain` are those that were not encrypted. A key without values may go. Of the \
                  whole store, so every replica says the same.",
        ..gauge("hapax_encrypted_values", &["key"])
    },
    Described {
        help: "Values that this process has brought under the first key",
        meaning: "It grows after encryption is turned on and after a key was rotated.",
        ..counter("hapax_reencrypted_values_total", &[])
    },
    Described {
        help: "Spans of traces, by what became of them",
        meaning: "`result` is `exported`, `dropped` (there was no room: telemetry never slows accepts) or `failed` (the \
                  receiver did not take them). All stay at 0 unless `[traces]` is configured.",
        ..counter("hapax_spans_total", &["result"])
    },
    Described {
        help: "1 for each alert that fires",
        meaning: "Of the whole store, so every replica says the same: take the largest, not the sum. `alert` is a rule of \
                  `[alerts]`, `subject` a source, a destination, an outbox or `store`.",
        ..gauge("hapax_alert_firing", &["alert", "subject"])
    },
    Described {
        help: "Messages of alerts, by receiver and what came of them",
        meaning: "`result` is `delivered` or `failed`; what failed is sent again.",
        ..counter("hapax_alert_messages_total", &["receiver", "result"])
    },
];
