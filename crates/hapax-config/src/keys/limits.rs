//! `[server.limits]`.

use super::{DURATION, Table, key};

/// `[server.limits]`.
pub static LIMITS: Table = Table {
    header: "[server.limits]",
    help: "Limits at `listen` for requests that are not verified yet. A peer is an IPv4 address or an IPv6 /64. \
           `docs/guides/limits.md` says when to change what. A change needs a restart.",
    keys: &[
        key(
            "connections",
            "16 to 1000000",
            "`16384`",
            "Open connections; one more is answered 503. The limit of open files may allow fewer.",
        ),
        key(
            "connections_per_peer",
            "16 to 1000000",
            "`2048`",
            "Open connections of one peer; one more is answered 503. An eighth of `connections` is never one peer's.",
        ),
        key(
            "head_bytes",
            "size",
            "`16KiB`",
            "The longest request head, 8KiB to 256KiB; a longer one is answered 431. A connection in a request holds a buffer of up to twice this size.",
        ),
        key(
            "head_timeout",
            DURATION,
            "`10s`",
            "How long a head may take, 1s to 60s; a slower one is answered 408. On a connection that was used before it may be up to twice as long.",
        ),
        key(
            "body_timeout",
            DURATION,
            "`30s`",
            "How long a body may take, 1s to 10m; a slower one is answered 408.",
        ),
        key(
            "body_rate_min",
            "size",
            "`1KiB`",
            "Bytes a second that a body brings at least, 1B to 1MiB, measured over 5 s; a slower one is answered 408.",
        ),
        key(
            "unproven_bytes",
            "size",
            "`128MiB`",
            "Memory for request bodies that are not verified yet, 1MiB to 64GiB; a body that does not fit is answered 503. Half is reserved for the sources in equal shares. The first 8 KiB of each body do not count.",
        ),
        key(
            "unproven_bytes_per_peer",
            "size",
            "`64MiB`",
            "The same, for the bodies of one peer.",
        ),
        key(
            "proven_bytes",
            "size",
            "`128MiB`",
            "Bytes of verified bodies that wait to be stored, 1MiB to 64GiB; one that does not fit is answered 503.",
        ),
        key(
            "refusals_per_peer",
            "rate",
            "`50/s`",
            "Refusals of one peer that are answered at once. The answers to more are held back for up to 2 s and not written to the log; well-signed deliveries never wait.",
        ),
    ],
};
