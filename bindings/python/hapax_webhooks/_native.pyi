"""The native module: verification, identity, signing and answers, the same code as the Rust library and the gateway.

It does no I/O, and reads the clock only where `now` is left out. Times are Unix seconds unless a name says otherwise.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict, final

Headers = Sequence[tuple[bytes | str, bytes | str]]
"""Names in any case; a header that occurs twice is listed twice. A `str` value is encoded as Latin-1, as WSGI has it."""

Options = Mapping[str, str | Sequence[str] | Mapping[str, str]]
Keys = Mapping[str, bytes | str]
"""Fetched keys by `KeyRequest.key_id`: a PEM certificate by its URL, a JSON Web Key by its id."""

Trouble = Literal["busy", "victim", "unavailable", "refused"]
Word = Literal["processed", "duplicate", "conflict", "in_flight"]

class NativeError(Exception):
    """Bad input. `str(error)` is `message`; no secret is ever part of it."""

    code: Literal["Invalid", "InvalidCall", "SetupError"]
    message: str

class OptionInfo(TypedDict):
    name: str
    about: str
    kind: Literal["text", "secret", "list", "table"]
    required: bool

class ProviderInfo(TypedDict):
    name: str
    title: str
    docs: list[str]
    needs_secret: bool
    options: list[OptionInfo]

class Limits(TypedDict):
    name_bytes_max: int
    purge_rows_max: int
    target_bytes_max: int
    headers_max: int
    body_bytes_max: int
    body_timeout_seconds: int
    wait_ms_default: int
    retention_seconds_default: int
    claim_attempts_max: int

class Sql(TypedDict):
    """Statements with the placeholders `$1`… (postgres) or `?1`… (sqlite). Their parameters:

    claim: scope, event_id, consumer, generation, body_hash, retention_seconds; a first claim affects 1 row, any other 0
    look_up: scope, event_id, consumer, generation; at most one row with `body_hash`
    extend: scope, event_id, consumer, generation, retention_seconds
    purge: rows_max
    stage: consumer, scope, event_id, kind, target, headers (JSON text), body, idempotency_key or None, order_key or None
    claim_within: those of claim, and the maximum wait, such as '1500ms'; a first claim returns 1 row, any other none
    """

    create_inbox: str
    create_outbox: str
    claim: str
    look_up: str
    extend: str
    purge: str
    stage: str
    claim_within: str | None

def version() -> str: ...
def providers() -> list[ProviderInfo]: ...
def limits() -> Limits: ...
def sql(dialect: Literal["postgres", "sqlite"]) -> Sql: ...
def trouble(sqlstate: str | None) -> Trouble:
    """What an error of PostgreSQL means; `None` is a lost connection."""

def sqlite_trouble(primary_code: int | None) -> Trouble:
    """What an error of SQLite means. An extended code is reduced to its primary one."""

def check_name(what: Literal["source", "event id", "consumer"], text: str) -> None: ...
def idempotency_key(scope: str, event_id: str, generation: int, destination: str) -> str: ...
def call_key(scope: str, event_id: str, generation: int, consumer: str, number: int) -> str: ...
def body_hash(body: bytes) -> bytes: ...
def check_call(
    kind: Literal["http", "destination"],
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    key: str | None,
    order_key: str | None,
) -> str:
    """Refuses a call that cannot be made, and returns its headers as the outbox stores them: JSON text, lower-case names."""

@final
class Reply:
    """A response. Send exactly these headers and this body."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def body(self) -> bytes: ...

@final
class ViaHapax:
    """What the gateway says about a delivery. Not signed, so never part of a claim."""

    @property
    def source(self) -> str | None: ...
    @property
    def event_id(self) -> str | None: ...
    @property
    def event_type(self) -> str | None: ...
    @property
    def attempt(self) -> int | None: ...
    @property
    def idempotency_key(self) -> str:
        """Signed: it is the `webhook-id`."""

    @property
    def received_at(self) -> str | None:
        """When the event arrived at the gateway, such as `2026-01-01T00:00:00.000000Z`."""

@final
class NativeEvent:
    """A verified event. Immutable."""

    @property
    def source(self) -> str: ...
    @property
    def event_id(self) -> str: ...
    @property
    def event_type(self) -> str | None: ...
    @property
    def body(self) -> bytes | None:
        """None if it is the whole body of the request."""

    @property
    def body_hash(self) -> bytes | None: ...
    @property
    def generation(self) -> int: ...
    @property
    def replayed(self) -> bool: ...
    @property
    def received_at(self) -> int: ...
    @property
    def signed_at(self) -> int | None: ...
    @property
    def secret_index(self) -> int | None: ...
    @property
    def batch_index(self) -> int | None: ...
    @property
    def via_hapax(self) -> ViaHapax | None: ...
    @property
    def binding(self) -> tuple[str, bytes] | None:
        """For a provider that does not sign the body (PayPal): an event id and a body hash to claim first, in the same
        transaction, under the same source, consumer and generation. If that claim finds another body, the event is a
        conflict; otherwise (first or again), go on with the claim of the event itself."""

@final
class KeyRequest:
    """A key that has to be fetched before the request can be verified. Fetch it over https without following redirects
    (`body` is None: GET, else POST), check that the response contains `expects`, and call `receive` again with
    `keys={key_id: response}`. The URL is already checked against the provider's hosts."""

    @property
    def url(self) -> str: ...
    @property
    def key_id(self) -> str: ...
    @property
    def kind(self) -> Literal["published", "token", "answer"]: ...
    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def body(self) -> bytes | None: ...
    @property
    def expects(self) -> str: ...

@final
class Confirmation:
    """A URL that the provider wants called (SNS): GET it over https without following redirects; on 2xx send `reply`."""

    @property
    def url(self) -> str: ...
    @property
    def reply(self) -> Reply: ...

@final
class Refusal:
    """Why a request is not an event."""

    @property
    def code(self) -> str:
        """A stable problem code, such as `signature_invalid`."""

    @property
    def message(self) -> str: ...
    @property
    def hint(self) -> str: ...
    @property
    def needs_key(self) -> KeyRequest | None:
        """`code` is then `key_unavailable`."""

    @property
    def confirmation(self) -> Confirmation | None:
        """`code` is then `confirmation_failed`."""

@final
class Received:
    """Either `events`; or `reply` alone: a handshake; or `reply` and `error`: a refusal."""

    @property
    def events(self) -> list[NativeEvent] | None: ...
    @property
    def reply(self) -> Reply | None: ...
    @property
    def error(self) -> Refusal | None: ...

@final
class Delivery:
    """A signed sample delivery, ready to send."""

    @property
    def method(self) -> str: ...
    @property
    def path_query(self) -> str:
        """The path and query of the public URL, with what the signer added; `/` if no public URL is set."""

    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def body(self) -> bytes: ...
    @property
    def event_id(self) -> str: ...

@final
class Source:
    @staticmethod
    def provider(
        name: str,
        secrets: Sequence[str],
        options: Options | None = None,
        source_name: str | None = None,
        public_url: str | None = None,
        body_limit: int | None = None,
        keys: Keys | None = None,
        signing_secret: str | None = None,
    ) -> Source:
        """`signing_secret` is for samples only: the private half, where `secrets` has public keys."""

    @staticmethod
    def custom(
        name: str,
        scheme: str,
        secrets: Sequence[str],
        public_url: str | None = None,
        body_limit: int | None = None,
        signing_secret: str | None = None,
    ) -> Source:
        """`scheme` is JSON: `{"verify": {…}, "event_id": …, "event_type": …}`, as in [sources.NAME] of hapax.toml."""

    @staticmethod
    def hapax(secrets: Sequence[str], source_name: str = "hapax", body_limit: int | None = None) -> Source: ...
    @property
    def name(self) -> str: ...
    @property
    def body_limit(self) -> int: ...
    def receive(
        self,
        method: str,
        query: str,
        headers: Headers,
        body: bytes,
        now: int | None = None,
        keys: Keys | None = None,
    ) -> Received: ...
    def too_large(self) -> Reply: ...
    def too_slow(self) -> Reply: ...
    def answer(self, outcomes: Sequence[tuple[Word, str]]) -> Reply:
        """One outcome, or those of a batch in its order (also none). Any `in_flight` makes the whole answer 503."""

    def answer_failed(self) -> Reply: ...
    def answer_unavailable(self) -> Reply: ...
    def sample(
        self,
        event_type: str | None = None,
        event_id: str | None = None,
        body: bytes | None = None,
        now: int | None = None,
    ) -> Delivery: ...
    def explain(
        self,
        method: str,
        query: str,
        headers: Headers,
        body: bytes,
        now: int | None = None,
        keys: Keys | None = None,
    ) -> str | None: ...
