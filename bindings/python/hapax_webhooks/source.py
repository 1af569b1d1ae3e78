"""A source: its provider, how its requests are verified and answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from hapax_webhooks import _native
from hapax_webhooks.errors import SetupError, from_native
from hapax_webhooks.event import Event
from hapax_webhooks.keys import FETCHES_MAX, PublishedKeys, is_confirmed

if TYPE_CHECKING:
    from hapax_webhooks._native import Headers, KeyRequest, Options, Refusal, Reply


FRESH = b"{{fresh}}"


class Received(NamedTuple):
    """What a request is: `events`; or a handshake, with only a `reply`; or a refusal, with a `reply` and an `error`."""

    events: tuple[Event, ...] | None
    reply: Reply | None
    error: Refusal | None


@dataclass(frozen=True)
class Delivery:
    """A signed sample delivery."""

    source: Source = field(repr=False)
    event_id: str
    method: str
    path_query: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes = field(repr=False)
    event_type: str | None = None
    template: bytes | None = field(default=None, repr=False)
    """The body as it was given, if it is not the provider's sample."""

    def fresh(self) -> Delivery:
        """The same event under another id, signed now. In a body of your own, `{{fresh}}` becomes new letters; without
        it, the event's id is replaced wherever the body has it."""
        if self.template is None:
            return self.source.sample(self.event_type)
        body = self.template
        if FRESH not in body:
            body = body.replace(self.event_id.encode(), _another(self.event_id).encode())
        made = self.source.sample(self.event_type, body=body)
        if made.event_id == self.event_id:
            raise SetupError(
                f"the event's id ({self.event_id}) is made of several parts of the body; write {{{{fresh}}}} into one of "
                "them, such as its id, so that every delivery can be a new event"
            )
        return made

    def tampered(self) -> Delivery:
        """The same headers with another body."""
        return replace(self, body=self.body + b" ")


class Source:
    """Verifies the deliveries of one provider. Immutable; secrets appear in no error and no `repr`."""

    __slots__ = ("_keys", "_native")

    def __init__(self, native: _native.Source) -> None:
        """Use `Source.provider`, `Source.custom` or `Source.hapax`."""
        self._native = native
        self._keys = PublishedKeys()

    @classmethod
    def provider(
        cls,
        provider: str,
        secrets: Sequence[str],
        *,
        options: Options | None = None,
        name: str | None = None,
        public_url: str | None = None,
        body_limit: int | None = None,
        signing_secret: str | None = None,
    ) -> Source:
        """A provider of the catalogue, such as `stripe`. Any of the secrets may match, which allows rotation.

        `name` is the scope in which event ids are unique; two accounts of one provider may need two names. `public_url`
        is the route's URL, for providers that sign it. `signing_secret` is for samples only: the private key, where
        `secrets` has a public one.
        """
        listed = _listed(secrets)
        return cls._made(
            lambda: _native.Source.provider(
                provider, listed, options, name, public_url, body_limit, signing_secret=signing_secret
            )
        )

    @classmethod
    def custom(
        cls,
        name: str,
        scheme: Mapping[str, Any],
        secrets: Sequence[str],
        *,
        public_url: str | None = None,
        body_limit: int | None = None,
    ) -> Source:
        """Any other signature scheme: `{"verify": {…}, "event_id": …}`, as `[sources.NAME]` of hapax.toml has it."""
        listed = _listed(secrets)
        return cls._made(lambda: _native.Source.custom(name, json.dumps(scheme), listed, public_url, body_limit))

    @classmethod
    def hapax(cls, secrets: Sequence[str], *, name: str = "hapax", body_limit: int | None = None) -> Source:
        """Behind the Hapax gateway: verifies its `webhook-signature`. The claim is on its idempotency key, the same on
        every attempt; `Event.via_hapax` has what it reports about the event."""
        listed = _listed(secrets)
        return cls._made(lambda: _native.Source.hapax(listed, name, body_limit))

    @classmethod
    def _made(cls, make: Any) -> Source:
        try:
            return cls(make())
        except _native.NativeError as error:
            raise from_native(error) from None

    @property
    def name(self) -> str:
        """The scope of its events' ids."""
        return self._native.name

    @property
    def body_limit(self) -> int:
        """The maximum size of a body, in bytes."""
        return self._native.body_limit

    def receive(self, method: str, query: str, headers: Headers, body: bytes, *, now: int | None = None) -> Received:
        """Verifies a request and identifies its events. Fetches a published key if the signature names a new one."""
        keys = self._keys.known
        found = self._native.receive(method, query, headers, body, now, keys)
        for _ in range(FETCHES_MAX):
            request = _wanted(found)
            if request is None or (key := self._keys.fetch(request)) is None:
                break
            keys = {**keys, request.key_id: key}
            found = self._native.receive(method, query, headers, body, now, keys)
        confirmation = None if found.error is None else found.error.confirmation
        if confirmation is not None and is_confirmed(confirmation.url):
            return Received(None, confirmation.reply, None)
        return _received(found, body)

    async def areceive(
        self, method: str, query: str, headers: Headers, body: bytes, *, now: int | None = None
    ) -> Received:
        """`receive` in an event loop, which fetching a key must not block."""
        found = self._native.receive(method, query, headers, body, now, self._keys.known)
        if found.error is None or (found.error.needs_key is None and found.error.confirmation is None):
            return _received(found, body)
        return await asyncio.to_thread(self.receive, method, query, headers, body, now=now)

    def answer(self, outcomes: Iterable[tuple[_native.Word, str]]) -> Reply:
        """The response to a request whose events ended like this: each outcome's word, and the event's id."""
        return self._native.answer(list(outcomes))

    def answer_failed(self) -> Reply:
        """The response after a handler failed: the provider delivers the event again."""
        return self._native.answer_failed()

    def answer_unavailable(self) -> Reply:
        """The response while the database is unavailable: the provider delivers the event again."""
        return self._native.answer_unavailable()

    def too_large(self) -> Reply:
        """The response to a body above `body_limit`."""
        return self._native.too_large()

    def too_slow(self) -> Reply:
        """The response to a body that did not arrive in time."""
        return self._native.too_slow()

    def sample(
        self,
        event_type: str | None = None,
        *,
        event_id: str | None = None,
        body: bytes | str | Mapping[str, Any] | None = None,
        now: int | None = None,
    ) -> Delivery:
        """A delivery as the provider would send it, signed with the first secret: for tests."""
        raw = body if isinstance(body, bytes) or body is None else _bytes(body)
        try:
            sent = None if raw is None else raw.replace(FRESH, uuid4().hex[:12].encode())
            made = self._native.sample(event_type, event_id, sent, now)
        except _native.NativeError as error:
            raise from_native(error) from None
        return Delivery(
            source=self,
            event_id=made.event_id,
            method=made.method,
            path_query=made.path_query,
            headers=tuple(made.headers),
            body=made.body,
            event_type=event_type,
            template=raw,
        )

    def explain(self, method: str, query: str, headers: Headers, body: bytes, *, now: int | None = None) -> str | None:
        """The likely mistake behind a refused request, such as the secret of another endpoint."""
        return self._native.explain(method, query, headers, body, now, self._keys.known)

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


def _another(event_id: str) -> str:
    """Another id of the same kind: some providers' ids are numbers."""
    if event_id.isdigit():
        return str(uuid4().int)[: max(len(event_id), 9)]
    return f"{event_id[:200]}-{uuid4().hex[:8]}"


def _listed(secrets: Sequence[str]) -> list[str]:
    """The secrets as a list. A single string is a sequence of letters, each of which would be a secret."""
    if isinstance(secrets, (str, bytes)) or not all(isinstance(secret, str) for secret in secrets):
        raise SetupError("`secrets` must be a list of strings; write secrets=[secret] for a single one")
    return list(secrets)


def _bytes(body: str | Mapping[str, Any]) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body, separators=(",", ":")).encode()


def _wanted(found: _native.Received) -> KeyRequest | None:
    return None if found.error is None else found.error.needs_key


def _received(found: _native.Received, body: bytes) -> Received:
    events = found.events
    raw = bytes(body)  # the same object, unless someone could still change it
    return Received(
        None if events is None else tuple(Event.from_native(event, raw) for event in events),
        found.reply,
        found.error,
    )
