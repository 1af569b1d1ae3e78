//! The keys of the language. The parser, the reference page and the completion all use this list.

/// A key of the query language.
#[derive(Debug)]
pub struct Key {
    /// The name before the colon.
    pub name: &'static str,
    /// The accepted values.
    pub value: &'static str,
    /// The events it matches.
    pub help: &'static str,
    /// Example terms.
    pub examples: &'static [&'static str],
}

pub static KEYS: &[Key] = &[
    Key {
        name: "source",
        value: "a source's name",
        help: "Events of this source.",
        examples: &["source:stripe"],
    },
    Key {
        name: "type",
        value: "a type; a trailing `*` matches any ending",
        help: "Events of this type.",
        examples: &["type:invoice.paid", "type:invoice.*"],
    },
    Key {
        name: "status",
        value: "pending, failed, dead, held, completed, ignored or quarantined",
        help: "Events with this status.",
        examples: &["status:dead"],
    },
    Key {
        name: "id",
        value: "an id",
        help: "Events with this id: the provider's id or the Hapax id. A word without a key means the same.",
        examples: &["id:evt_1", "evt_1"],
    },
    Key {
        name: "to",
        value: "a destination's name, or its id",
        help: "Events with a delivery to this destination.",
        examples: &["to:billing"],
    },
    Key {
        name: "error",
        value: "connect, timeout, status, refused, protocol, blocked, exit, sql, lost, shutdown or same_body",
        help: "Events with a delivery that is dead with this error; with `to:`, the delivery to that destination.",
        examples: &["error:timeout", "to:billing error:status"],
    },
    Key {
        name: "duplicates",
        value: "a number, or `>`, `>=`, `<`, `<=` and a number",
        help: "Events with this many duplicates.",
        examples: &["duplicates:>0", "duplicates:>=3", "duplicates:2"],
    },
    Key {
        name: "has",
        value: "conflict",
        help: "Events with a conflict: a different body under the same id.",
        examples: &["has:conflict"],
    },
    Key {
        name: "body",
        value: "a JSON pointer, `=` and a value",
        help: "Events whose body has this value at this pointer. May occur up to four times. Fields in the source's `indexed` use the index; otherwise the newest 50,000 bodies are read, and the response says so.",
        examples: &[
            "body:/data/object/id=ord_1",
            "body:/amount=1200",
            "body:/customer/name=\"Ada L\"",
        ],
    },
    Key {
        name: "since",
        value: "an age, or a time in RFC 3339",
        help: "Events received at or after this time.",
        examples: &["since:2h", "since:2026-01-31T12:00:00Z"],
    },
    Key {
        name: "until",
        value: "an age, or a time in RFC 3339",
        help: "Events received before this time.",
        examples: &["until:30m"],
    },
];

/// The names of all keys, for error messages.
pub(super) fn names() -> String {
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    names.join(", ")
}
