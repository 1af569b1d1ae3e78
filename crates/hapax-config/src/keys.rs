//! Every key of `hapax.toml`, in one table, so that the reference page shows exactly what the parser accepts.

mod limits;
mod oidc;

pub use limits::LIMITS;
pub use oidc::OIDC;

#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// The values it accepts.
    pub kind: &'static str,
    /// The value used if the key is missing.
    pub default: &'static str,
    pub help: &'static str,
}

#[derive(Debug)]
pub struct Table {
    /// The table's header, as written in the file.
    pub header: &'static str,
    pub help: &'static str,
    pub keys: &'static [Key],
}

const fn key(name: &'static str, kind: &'static str, default: &'static str, help: &'static str) -> Key {
    Key {
        name,
        kind,
        default,
        help,
    }
}

const DURATION: &str = "duration";
const TEXT: &str = "text";
const SECRET: &str = "secret";
const REQUIRED: &str = "required";
const NONE: &str = "none";

const COMMAND_ENV: Key = key(
    "env",
    "list of strings",
    "`[\"PATH\", \"HOME\", \"LANG\", \"LC_ALL\", \"TZ\", \"TMPDIR\"]`",
    "`command`: which variables of the environment the program is given; it has no others but those that tell it what happened (`HAPAX_…`, `TRACEPARENT`). Variables that this file reads as secrets are refused.",
);

/// Removed keys: the table, the key, and the replacement.
pub(super) static GONE: [(&str, &str, &str); 1] = [(
    "[server]",
    "state_key",
    "the whole store is encrypted now: write the same secret under `[store]`, as `encryption_keys = \
     [\"env:HAPAX_STATE_KEY\"]`, and what it has sealed stays readable",
)];

/// The top-level tables.
pub static TOP: Table = Table {
    header: "hapax.toml",
    help: "The tables of the file.",
    keys: &[
        key("server", "table", NONE, "The listeners."),
        key("store", "table", NONE, "Where events are kept."),
        key("sources", "tables", NONE, "Who sends, one table each."),
        key("destinations", "tables", NONE, "Who receives, one table each."),
        key(
            "outbox",
            "tables",
            NONE,
            "Databases whose `hapax_outbox` is relayed, one table each.",
        ),
        key("alerts", "table", NONE, "What is alerted on, and who is told."),
        key("traces", "table", NONE, "Where OpenTelemetry traces are sent."),
    ],
};

/// `[server]`.
pub static SERVER: Table = Table {
    header: "[server]",
    help: "The listeners.",
    keys: &[
        key(
            "listen",
            "address",
            "`127.0.0.1:8080`",
            "Where webhooks arrive: `POST /in/<source>`.",
        ),
        key(
            "admin_listen",
            "address",
            "`127.0.0.1:8081`",
            "The admin API, `/metrics`, `/healthz` and `/readyz`. Never the same as `listen`.",
        ),
        key(
            "admin_token",
            SECRET,
            NONE,
            "The bearer token of the admin API: it may do everything, and the audit trail calls it `admin`. Required where `admin_listen` is not a loopback address.",
        ),
        key(
            "tokens",
            "tables",
            NONE,
            "Tokens beside `admin_token`, one `[[server.tokens]]` each; up to 64. Needs `admin_token`.",
        ),
        key(
            "body_limit",
            "size",
            "`5MiB`",
            "The largest body taken, 1KiB to 64MiB; a larger one is answered 413. A source may have its own.",
        ),
        key(
            "keep_alive",
            DURATION,
            "`150s`",
            "How long a connection stays open for its next request, 30s to 1h; it may be up to twice as long. Keep it longer than a proxy in front keeps its connections.",
        ),
        key(
            "public_url",
            "URL",
            NONE,
            "The URL under which senders reach `listen`, for those that sign it. Never taken from a request. A source may have its own.",
        ),
        key(
            "secret_refresh",
            DURATION,
            "`5m`",
            "How often the command of an `exec:` secret is run again, 1s to 24h. While it fails, its last value stays in use. Files of secrets are looked at every 2 s.",
        ),
        key(
            "key_server",
            "URL",
            NONE,
            "For tests: a server on this machine that is asked for every key that senders publish, instead of their own. Each is at `/<host>/<path>`.",
        ),
        key(
            "limits",
            "table",
            "`{}`",
            "Limits for unauthenticated clients; see `[server.limits]`.",
        ),
        key("tls", "table", NONE, "TLS on both ports; see `[server.tls]`."),
        key(
            "admin_tls",
            "table, or `false`",
            "`server.tls`",
            "TLS on the admin port, where it differs from `[server.tls]`: a table with the same keys, or `false` for plain text on a loopback address.",
        ),
        key(
            "trusted_proxies",
            "networks",
            NONE,
            "The proxies in front, such as `[\"10.0.0.0/8\"]`; up to 64. Only where a connection comes from one of them is the client's address taken from `X-Forwarded-For` or `Forwarded`.",
        ),
        key(
            "oidc",
            "table",
            NONE,
            "Sign-in to the dashboard at an identity provider; see `[server.oidc]`.",
        ),
    ],
};

/// `[[server.tokens]]`.
pub static TOKEN: Table = Table {
    header: "[[server.tokens]]",
    help: "A token for the admin API and the dashboard, beside `admin_token`.",
    keys: &[
        key(
            "name",
            "name",
            REQUIRED,
            "The name that the audit trail shows for this token. `admin` and `local` are reserved.",
        ),
        key("token", SECRET, REQUIRED, "The token, at least 16 characters."),
        key(
            "role",
            "`read`, `operate`, `admin`",
            REQUIRED,
            "What it may do; the [guide](../guides/access.md) has the table.",
        ),
        key(
            "sources",
            "names",
            "all",
            "The only sources whose events, deliveries and figures it sees and changes. What cannot be limited to them is refused.",
        ),
    ],
};

/// `[store]`.
pub static STORE: Table = Table {
    header: "[store]",
    help: "Where events are kept.",
    keys: &[
        key(
            "url",
            "URL",
            "`sqlite:hapax.db`",
            "`sqlite:PATH`, where a relative path begins at the working directory; or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, for any number of replicas, over TLS with a verified certificate unless the host is this machine or `?sslmode=` says otherwise; or `redis://USER:PASSWORD@HOST:PORT/DATABASE` or `redis-cluster://HOST:PORT,HOST:PORT`, or either with `rediss` for TLS, with `?prefix=` and `shards=`, for very high volume. `env:NAME` and `file:PATH` keep its password out of the file.",
        ),
        key(
            "encryption_keys",
            "list of secrets",
            NONE,
            "What payloads, headers, conflicts, excerpts of answers and handed-over secrets are encrypted with in the store: the first key writes, all of them read; at least 32 characters each. `\"plain\"` in the first place encrypts nothing new yet. Required for a source that hands its secret over (Asana). See `docs/guides/encryption.md`.",
        ),
    ],
};

/// `[sources.NAME]`.
pub static SOURCE: Table = Table {
    header: "[sources.NAME]",
    help: "One sender. Its webhooks arrive at `/in/NAME`.",
    keys: &[
        key(
            "provider",
            TEXT,
            NONE,
            "A preset of the catalogue (`hapax providers`). Either this or `verify`.",
        ),
        key(
            "verify",
            "table",
            NONE,
            "How the sender signs, if there is no preset; see `[sources.NAME.verify]`.",
        ),
        key(
            "secrets",
            "list of secrets",
            REQUIRED,
            "The signing secrets; any may match, so that they can be rotated. A preset whose keys are fetched or handed over needs none.",
        ),
        key(
            "deliver_to",
            "list of destinations",
            "`[]`",
            "Where its events go. Without any they are stored and ignored.",
        ),
        key(
            "allow_from",
            "networks",
            "everybody",
            "The networks that requests may come from, such as `[\"203.0.113.0/24\", \"provider\"]`; all others are answered 403 before their bodies are read. `provider` stands for the networks that the preset's provider publishes, as `hapax providers NAME` shows them. Behind a proxy, set `server.trusted_proxies`.",
        ),
        key(
            "public_url",
            "URL",
            "`server.public_url` and `/in/NAME`",
            "The whole URL that the sender calls, where a proxy in between changes the path. Senders that sign the URL sign this one, with the query of the request.",
        ),
        key(
            "body_limit",
            "size",
            "the preset's, or `server.body_limit` if that is more",
            "The largest body taken, 1KiB to 64MiB; a larger one is answered 413. Presets whose senders document large bodies (GitHub, GitLab, Mailgun, Postmark, SendGrid Inbound Parse) have a fitting one.",
        ),
        key(
            "event_id",
            "place or list",
            "the preset's",
            "Where the event id is: `header:NAME`, `body:/json/pointer`, `form:NAME`, `query:NAME`, `body-sha256`, or a list that makes a composite; `none` where the sender has no ids, and nothing is a duplicate. Required with `verify`.",
        ),
        key(
            "event_type",
            "place or list",
            "the preset's",
            "Where the event type is; the parts of a list are joined by `.`.",
        ),
        key(
            "on_conflict",
            TEXT,
            "`keep`, or the preset's",
            "What to do with a known event id and a different body: `keep` (store it as a conflict; it is not delivered until you release it) or `accept` (accept it as a new event under `ID%conflict:HASH`, for providers that reuse ids; costs one more ledger lookup per new event).",
        ),
        key(
            "same_body",
            TEXT,
            "`flag`",
            "What a known body under a new event id is, where the sender does not sign the id: `flag` (an event like any other; it runs, and is flagged) or `hold` (it is stored and answered, and runs only once somebody releases it with `hapax replay ID --mode held`; guides/same-body.md says when to use which).",
        ),
        key(
            "scope",
            TEXT,
            "the source's name",
            "Where its event ids are unique. Sources that share a scope must share `deliver_to`.",
        ),
        key(
            "ledger_window",
            DURATION,
            "`30d`",
            "How long an event id is remembered. At least the sender's retry window plus a day; a window that is not known counts as 72 hours.",
        ),
        key(
            "payload_retention",
            DURATION,
            "`14d`",
            "How long bodies are kept. At most `ledger_window`.",
        ),
        key(
            "dead_retention",
            DURATION,
            "`30d`",
            "How long bodies of dead deliveries are kept. At most `ledger_window`.",
        ),
        key(
            "ack",
            TEXT,
            "`stored`",
            "When to answer 2xx: `stored` (durable; the work follows) or `processed` (every destination has done its work; a failure is answered 500, so that the sender delivers again).",
        ),
        key(
            "ack_timeout",
            DURATION,
            "`1500ms`, or a quarter of the sender's own, if that is less",
            "`ack = \"processed\"`: how long to wait for the work before answering 503; the work goes on.",
        ),
        key("ack_status", "200 or 202", "`200`", "The status for a new event."),
        key(
            "rate_limit",
            "rate",
            NONE,
            "The most deliveries taken, per replica; more are answered 429.",
        ),
        key(
            "indexed",
            "list of JSON pointers",
            "`[]`",
            "Body fields to index, so that events can be searched by value at any store size, such as `[\"/data/object/id\"]`; at most 8. Applies to events received from then on.",
        ),
        key(
            "redact",
            "list of JSON pointers",
            "`[]`",
            "Fields of bodies that are hidden from everybody in the dashboard, the API, exports and logs, such as `[\"/data/object/email\", \"/items/*/name\"]`; `*` is every item, and of a form `/email` is the field `email`. Destinations get the original. At most 64.",
        ),
        key(
            "options",
            "table",
            "`{}`",
            "Options of the preset in addition to its secrets, such as `{ verify_token = \"env:NAME\" }`; `hapax providers NAME` lists them.",
        ),
        key(
            "redis",
            "table",
            "`{}`",
            "What holds only with a store on Redis; see `[sources.NAME.redis]`.",
        ),
    ],
};

/// `[sources.NAME.redis]`.
pub static REDIS: Table = Table {
    header: "[sources.NAME.redis]",
    help: "What a source asks of a store on Redis.",
    keys: &[key(
        "wait",
        "0 to 5",
        "`0`",
        "How many replicas must have an event before it is answered 2xx; if they take too long, the answer is 503. It makes losing an event by a failover unlikely, and does not rule it out.",
    )],
};

/// `[sources.NAME.verify]`.
pub static VERIFY: Table = Table {
    header: "[sources.NAME.verify]",
    help: "How a sender without a preset proves itself. Each scheme reads some of these keys; one that it does not read is refused. \
           The guide `docs/guides/custom-sources.md` has an example of each.",
    keys: &[
        key(
            "scheme",
            TEXT,
            REQUIRED,
            "A signature: `hmac-sha1`, `hmac-sha256`, `hmac-sha512`, `ed25519` or `ecdsa-p256`. A signed token: `jwt`. A shared secret that is sent along: `token`, or `basic` as `user:password`.",
        ),
        key(
            "header",
            TEXT,
            "`authorization` for `jwt`; otherwise required",
            "The header that holds the signature or token.",
        ),
        key(
            "query",
            TEXT,
            NONE,
            "`token`: the parameter of the query that holds it, instead of a header.",
        ),
        key(
            "encoding",
            TEXT,
            "`hex`",
            "How the signature is written, or the hash in `body_hash_claim`: `hex` or `base64`. A signature of `ecdsa-p256` is in DER.",
        ),
        key(
            "prefix",
            TEXT,
            "`Bearer ` for `jwt` in `authorization`",
            "What stands before the signature or token in its header, such as `sha256=`.",
        ),
        key(
            "signed",
            TEXT,
            "`{body}`",
            "What the signature covers: text with `{body}`, `{timestamp}`, `{id}`, `{method}`, `{url}` and `{header:NAME}`.",
        ),
        key(
            "timestamp_header",
            TEXT,
            NONE,
            "The header that `{timestamp}` reads.",
        ),
        key(
            "timestamp_unit",
            TEXT,
            "`seconds`",
            "The unit of the timestamp: `seconds` or `milliseconds`.",
        ),
        key(
            "tolerance",
            DURATION,
            "`5m`",
            "How far the timestamp may be off, in both directions; at most a day. `jwt`: how far clocks may differ from `exp`, `nbf` and `iat`, and how old a token without `exp` may be.",
        ),
        key("id_header", TEXT, NONE, "The header that `{id}` reads."),
        key(
            "key",
            TEXT,
            "`utf8`; for `ed25519` `hex`, for `ecdsa-p256` `base64`",
            "How a secret's text becomes key bytes: `utf8`, `base64` or `hex`. The public key of `ecdsa-p256`, or of `jwt` with `ES256` or `RS256`, is PEM or base64.",
        ),
        key(
            "key_prefix",
            TEXT,
            NONE,
            "What stands before the secret and is not part of the key.",
        ),
        key(
            "algorithm",
            TEXT,
            NONE,
            "`jwt`, required there: `HS256` with the secrets, or `ES256` or `RS256` with the sender's public key. A token that names another is refused.",
        ),
        key("issuer", TEXT, NONE, "`jwt`: what `iss` has to be."),
        key("audience", TEXT, NONE, "`jwt`: what `aud` has to be, or contain."),
        key(
            "body_hash_claim",
            TEXT,
            NONE,
            "`jwt`: the claim that holds the SHA-256 of the body. Without it the token does not cover the body: whoever sees one can send anything while it lasts.",
        ),
    ],
};

/// `[destinations.NAME]`.
pub static DESTINATION: Table = Table {
    header: "[destinations.NAME]",
    help: "One receiver.",
    keys: &[
        key("kind", TEXT, REQUIRED, "`http`, `command` or `sql`."),
        key(
            "url",
            "URL",
            REQUIRED,
            "`http`: where to send; link-local and metadata addresses are refused. `sql`: the database, `postgres://…` or `sqlite:app.db`. `env:NAME`, `file:PATH` and `exec:COMMAND` keep tokens and passwords out of the file; it is shown without user name, password and query.",
        ),
        key(
            "secret",
            SECRET,
            NONE,
            "`http`: signs the outgoing request by Standard Webhooks.",
        ),
        key(
            "idempotency_key",
            TEXT,
            "`plain`",
            "`http`: how the `Idempotency-Key` header is written: `plain`, as most middleware compares it, or `quoted`, as the IETF's draft asks.",
        ),
        key(
            "command",
            "list of strings",
            REQUIRED,
            "`command`: the program and its arguments; no shell. The body is on stdin, exit 0 means done.",
        ),
        COMMAND_ENV,
        key(
            "statements",
            "list of strings",
            REQUIRED,
            "`sql`: what to run, in this order, in one transaction with a row of `hapax_inbox`. `:name` stands for a parameter.",
        ),
        key(
            "params",
            "table",
            NONE,
            "`sql`: for each name, where its value is: `order = \"body:/data/object/id\"`; see `[destinations.NAME.params.PARAM]`.",
        ),
        key(
            "connections",
            "1 to 64",
            "`2`",
            "`sql`: transactions at once, per replica (PostgreSQL; SQLite has one writer). Quick statements share transactions and gain nothing from more; slow ones do.",
        ),
        key(
            "inbox_retention",
            DURATION,
            "`60d`",
            "`sql`: how long `hapax_inbox` remembers what was applied. At least a day longer than the `ledger_window` of every source that delivers here, and `31d` where there is an outbox.",
        ),
        key(
            "events",
            "list of patterns",
            "all",
            "Which event types are wanted; `*` stands for any text.",
        ),
        key(
            "timeout",
            DURATION,
            "`10s`",
            "How long one attempt may take. Less than `lease`.",
        ),
        key(
            "concurrency",
            "1 to 1024",
            "`32`; `sql`: `128`",
            "How many attempts run at once, per replica.",
        ),
        key("rate_limit", "rate", NONE, "The most attempts, per replica."),
        key(
            "max_attempts",
            "1 to 100",
            "`12`",
            "After how many failed attempts a delivery is dead.",
        ),
        key(
            "backoff",
            "table",
            "`{ first = \"1s\", cap = \"1h\" }`",
            "How long to wait between attempts; see `[destinations.NAME.backoff]`.",
        ),
        key(
            "order_by",
            "place",
            NONE,
            "`body:/json/pointer` or `header:NAME`: events with the same value there run one at a time, in order of acceptance.",
        ),
        key(
            "on_dead",
            TEXT,
            "`hold`",
            "What a dead delivery does to those behind it: `hold` or `skip`. Only with `order_by`.",
        ),
        key(
            "lease",
            DURATION,
            "`60s`",
            "How long a worker holds a delivery, unless it renews the lease. That a whole replica died is noticed sooner, within 15 s.",
        ),
        key(
            "id",
            TEXT,
            "the destination's name",
            "Its stable identity: keep it when the name changes, or idempotency keys change.",
        ),
    ],
};

/// `[destinations.NAME.params.PARAM]`.
pub static PARAM: Table = Table {
    header: "[destinations.NAME.params.PARAM]",
    help: "A value for the statements of a `sql` destination. `PARAM = \"place\"` is short for `PARAM = { from = \"place\" }`. \
           Values are bound, never written into the SQL.",
    keys: &[
        key(
            "from",
            "place",
            REQUIRED,
            "`body:/json/pointer`, `header:NAME`, `body` (all of it), `event_id`, `event_type`, `source`, `id`, `received_at`, `idempotency_key` or `generation`.",
        ),
        key(
            "type",
            TEXT,
            "as the event has it",
            "What the value must be: `text`, `integer`, `number`, `boolean`, `json`, or for `body` also `bytes`. What does not fit makes the delivery dead.",
        ),
        key(
            "optional",
            "true or false",
            "`false`",
            "Whether the value may be missing; then it is NULL.",
        ),
    ],
};

/// `[destinations.NAME.backoff]`.
pub static BACKOFF: Table = Table {
    header: "[destinations.NAME.backoff]",
    help: "Waits double from `first` up to `cap`, and are spread evenly between zero and that.",
    keys: &[
        key(
            "first",
            DURATION,
            "`1s`",
            "The longest wait after the first attempt.",
        ),
        key("cap", DURATION, "`1h`", "The longest wait ever."),
    ],
};

/// `[outbox.NAME]`.
pub static OUTBOX: Table = Table {
    header: "[outbox.NAME]",
    help: "A database whose `hapax_outbox` is relayed: calls that were written in the transaction of the business data.",
    keys: &[
        key(
            "url",
            "URL",
            REQUIRED,
            "The database, `postgres://…` or `sqlite:app.db`; `env:NAME`, `file:PATH` and `exec:COMMAND` keep its password out of the file.",
        ),
        key(
            "poll",
            DURATION,
            "`1s`",
            "How long to wait at most before looking for new rows; it looks sooner while there is work.",
        ),
        key(
            "retention",
            DURATION,
            "`1d`",
            "How long rows stay after they were relayed.",
        ),
        key(
            "batch",
            "1 to 1000",
            "`100`",
            "How many rows are claimed at a time.",
        ),
        key(
            "allow_targets",
            "texts",
            "`[]`",
            "Rows of kind `http`: which hosts that are not public they may name: ranges of addresses and names of hosts, such as `[\"10.1.0.0/16\", \"internal.example.com\"]`. Without it rows reach public addresses alone. Link-local and metadata addresses and the listeners of Hapax itself are refused in any case. A refused call is a dead letter at once.",
        ),
        key(
            "timeout",
            DURATION,
            "`10s`",
            "Rows of kind `http`: how long one attempt may take.",
        ),
        key(
            "secret",
            SECRET,
            NONE,
            "Rows of kind `http`: signs the request by Standard Webhooks.",
        ),
        key(
            "idempotency_key",
            TEXT,
            "`plain`",
            "Rows of kind `http`: how the `Idempotency-Key` header is written, `plain` or `quoted`.",
        ),
        key(
            "concurrency",
            "1 to 1024",
            "`32`",
            "Rows of kind `http`: how many attempts run at once, per replica.",
        ),
        key(
            "max_attempts",
            "1 to 100",
            "`12`",
            "Rows of kind `http`: after how many failed attempts a call is dead.",
        ),
        key(
            "backoff",
            "table",
            "`{ first = \"1s\", cap = \"1h\" }`",
            "Rows of kind `http`: how long to wait between attempts; see `[destinations.NAME.backoff]`.",
        ),
        key(
            "on_dead",
            TEXT,
            "`hold`",
            "Rows of kind `http` with an `order_key`: what a dead call does to those behind it, `hold` or `skip`.",
        ),
    ],
};

/// `[traces]`.
pub static TRACES: Table = Table {
    header: "[traces]",
    help: "OpenTelemetry traces, sent as OTLP over HTTP (protobuf). Off unless `endpoint` or a variable says where to. \
           What the file leaves out is taken from `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, \
           `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TRACES_HEADERS`, `OTEL_SERVICE_NAME`, \
           `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_TRACES_SAMPLER_ARG`; `OTEL_SDK_DISABLED=true` switches traces off. \
           A change needs a restart.",
    keys: &[
        key(
            "endpoint",
            "URL",
            NONE,
            "The collector, such as `http://127.0.0.1:4318`; `/v1/traces` is added.",
        ),
        key(
            "headers",
            "table of secrets",
            "`{}`",
            "What every export carries, such as `{ authorization = \"env:OTLP_AUTHORIZATION\" }`; at most 16.",
        ),
        key(
            "sample",
            "0 to 1",
            "`1.0`",
            "Which share of the traces is kept. Where the sender has decided (the flag of its `traceparent`), its decision holds.",
        ),
        key(
            "service_name",
            TEXT,
            "`hapax`",
            "What this service is called in the traces.",
        ),
        key(
            "timeout",
            DURATION,
            "`5s`",
            "How long one export may take before it is given up.",
        ),
    ],
};

/// The keys of `[server.tls]` and `[server.admin_tls]`.
const TLS_KEYS: &[Key] = &[
    key(
        "cert",
        "path",
        REQUIRED,
        "The certificate in PEM form, followed by those that lead to its authority. Read again within seconds when it changes, like the other two.",
    ),
    key(
        "key",
        "path",
        REQUIRED,
        "The certificate's private key in PEM form.",
    ),
    key(
        "client_ca",
        "path",
        NONE,
        "Authorities in PEM form (mutual TLS): only clients with a certificate of theirs are let in.",
    ),
];

/// `[server.tls]`.
pub static TLS: Table = Table {
    header: "[server.tls]",
    help: "TLS with HTTP/1.1 and HTTP/2 on both ports, TLS 1.2 or newer.",
    keys: TLS_KEYS,
};

/// `[server.admin_tls]`.
pub static ADMIN_TLS: Table = Table {
    header: "[server.admin_tls]",
    help: "TLS on the admin port, instead of `[server.tls]`; for example with a `client_ca` of its own.",
    keys: TLS_KEYS,
};

/// Every table, in the reference page's order.
pub static ALL: [&Table; 17] = [
    &SERVER,
    &LIMITS,
    &TOKEN,
    &TLS,
    &ADMIN_TLS,
    &OIDC,
    &STORE,
    &SOURCE,
    &VERIFY,
    &REDIS,
    &DESTINATION,
    &PARAM,
    &BACKOFF,
    &OUTBOX,
    &ALERTS,
    &RECEIVER,
    &TRACES,
];

/// The values accepted for a rule of `[alerts]`.
const LIMIT_SHARE: &str = "0 to 1, or `false`";
const LIMIT_COUNT: &str = "number, or `false`";
const LIMIT_DURATION: &str = "duration, or `false`";

/// `[alerts]`.
pub static ALERTS: Table = Table {
    header: "[alerts]",
    help: "Alert rules. Each fires above its limit; `false` turns it off. All rules are active without this table; firing alerts are then shown by `hapax alerts`, the dashboard, the log and the metrics.",
    keys: &[
        key(
            "dedupe_rate",
            LIMIT_SHARE,
            "`0.5`",
            "Of a source: the 95th percentile of the sixty ten-second dedupe rates in ten minutes; only where at least 20 events came.",
        ),
        key(
            "handler_p95",
            LIMIT_DURATION,
            "`5s`",
            "Of a destination: the 95th percentile of attempts' times in ten minutes.",
        ),
        key(
            "oldest_pending",
            LIMIT_DURATION,
            "`10m`",
            "Of a destination: how long its oldest unfinished delivery has waited, paused and held ones too.",
        ),
        key(
            "dead_letters",
            LIMIT_COUNT,
            "`0`",
            "Of a destination: how many dead letters there are.",
        ),
        key(
            "breaker_open",
            LIMIT_DURATION,
            "`1m`",
            "Of a destination: how long its breaker has been open.",
        ),
        key(
            "conflicts",
            LIMIT_COUNT,
            "`0`",
            "Of a source: bodies in ten minutes that differ from the first one under their id.",
        ),
        key(
            "signature_failures",
            LIMIT_COUNT,
            "`10`",
            "Of a source: requests in ten minutes that were answered 401.",
        ),
        key(
            "duplicate_gap",
            LIMIT_SHARE,
            "`0.8`",
            "Of a source: the longest gap between an event and a copy of it in the last day, as a share of `ledger_window`.",
        ),
        key(
            "store_write_p95",
            LIMIT_DURATION,
            "`1s`",
            "The 95th percentile of the times of durable writes in ten minutes.",
        ),
        key(
            "outbox_down",
            LIMIT_DURATION,
            "`1m`",
            "Of an outbox: how long its table could not be used.",
        ),
        key(
            "outbox_refused",
            LIMIT_COUNT,
            "`0`",
            "Of an outbox: how many of its rows were refused and wait for somebody.",
        ),
        key(
            "outbox_waiting",
            LIMIT_DURATION,
            "`10m`",
            "Of an outbox: how long the oldest row that is not relayed has waited.",
        ),
        key(
            "resolve_after",
            DURATION,
            "`1m`",
            "How long the condition must be false on every replica before the alert resolves.",
        ),
        key(
            "receivers",
            "tables",
            NONE,
            "Where alerts are sent, one table for each receiver, up to 16.",
        ),
    ],
};

/// `[alerts.receivers.NAME]`.
pub static RECEIVER: Table = Table {
    header: "[alerts.receivers.NAME]",
    help: "A receiver of messages when an alert fires and when it resolves. `hapax alerts test NAME` sends a test message.",
    keys: &[
        key(
            "kind",
            TEXT,
            REQUIRED,
            "`\"slack\"`: a request in the shape that Slack takes; `\"webhook\"`: a request by Standard Webhooks; `\"command\"`: a program, with the same JSON on its stdin and `HAPAX_ALERT_*` in its environment.",
        ),
        key(
            "url",
            SECRET,
            NONE,
            "`slack` and `webhook`: where to. It is a secret: whoever knows it can write there. The same addresses are refused as for destinations.",
        ),
        key(
            "secret",
            SECRET,
            NONE,
            "`webhook`: signs the request by Standard Webhooks.",
        ),
        key(
            "command",
            "texts",
            NONE,
            "`command`: the program and its arguments, without a shell in between. Exit code 0 means told.",
        ),
        COMMAND_ENV,
        key(
            "timeout",
            DURATION,
            "`10s`",
            "How long sending one message may take, 10ms to 1m.",
        ),
    ],
};

impl Table {
    /// The names of the table's keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::Deserialize as _;

    use super::*;

    #[test]
    fn the_verify_table_has_the_keys_that_the_verifier_reads() {
        let table: toml::Table = toml::from_str("no_such_key = 1").unwrap();
        let error = hapax_verify::CustomScheme::deserialize(table)
            .unwrap_err()
            .to_string();
        let (_, expected) = error.split_once("expected one of ").unwrap();
        let read: BTreeSet<&str> = expected
            .lines()
            .next()
            .unwrap_or_default()
            .split(", ")
            .map(|name| name.trim_matches('`'))
            .collect();
        assert_eq!(read, VERIFY.names().collect());
    }

    #[test]
    fn no_key_is_named_twice() {
        for table in ALL {
            assert_eq!(
                table.names().collect::<BTreeSet<_>>().len(),
                table.keys.len(),
                "{}",
                table.header
            );
        }
    }
}
