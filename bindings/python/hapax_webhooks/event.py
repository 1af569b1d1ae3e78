"""The event that a claim is about."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from hapax_webhooks import _native
from hapax_webhooks.errors import Invalid, from_native

if TYPE_CHECKING:
    from hapax_webhooks._native import NativeEvent, ViaHapax


@dataclass(frozen=True)
class Event:
    """An event as its provider identified it. Its id and the hash of its body are fixed when it is verified.

    `Event("stripe", "evt_1", raw=body)` makes one by hand. The id must be the provider's own, never one that was
    generated on receipt.
    """

    source: str
    """The scope in which the id is unique: the source's name."""
    id: str
    """The provider's own id."""
    type: str | None = None
    """The provider's event type, such as `invoice.paid`."""
    raw: bytes | None = field(default=None, repr=False)
    """The raw body, byte for byte; for an event from a batch, its part of it."""
    body_hash: bytes | None = field(default=None, repr=False)
    """The hash by which another body under the same id is detected. Without it, an event never conflicts."""
    generation: int = 0
    """Above 0 only if the event deliberately takes effect once more."""
    replayed: bool = False
    """Whether an operator replayed it: if it was applied before, the retention of its row is extended."""
    received_at: int | None = None
    """When the request arrived, in Unix seconds."""
    signed_at: int | None = None
    """When the request was signed, in Unix seconds, if the scheme has it."""
    secret_index: int | None = None
    """Which of the source's secrets matched, counted from 0. An old secret that no longer matches can be removed."""
    batch_index: int | None = None
    """Its position in the request, if the provider sends several events in one."""
    via_hapax: ViaHapax | None = field(default=None, repr=False, compare=False)
    """Behind Hapax: the source, event id, event type and attempt that the gateway reports. Not signed."""
    binding: tuple[str, bytes] | None = field(default=None, repr=False)
    """For a provider that does not sign the body: what is claimed first, so that an old signature fits one body only."""

    def __post_init__(self) -> None:
        if self.received_at is not None:
            return  # Checked by the native module when it was verified.
        try:
            _native.check_name("source", self.source)
            _native.check_name("event id", self.id)
        except _native.NativeError as error:
            raise from_native(error) from None
        if self.raw is not None and self.body_hash is None:
            object.__setattr__(self, "body_hash", _native.body_hash(self.raw))

    @cached_property
    def body(self) -> Any:
        """The body as JSON, parsed once. For another format, use `raw` or `form`."""
        if self.raw is None:
            raise Invalid(f"the event {self.id} has no body; pass raw= when you create it")
        try:
            return json.loads(self.raw)
        except ValueError as error:
            raise Invalid(
                f"the body of the event {self.id} is not JSON ({error}); use event.raw, or event.form for a form"
            ) from error

    @cached_property
    def form(self) -> dict[str, list[str]]:
        """The body as a form, for providers that post forms."""
        return parse_qs((self.raw or b"").decode(), keep_blank_values=True)

    def in_generation(self, generation: int) -> Event:
        """The same event in another generation: it takes effect once more."""
        return replace(self, generation=generation)

    def to_dict(self) -> dict[str, Any]:
        """What a message of a queue has to carry, as JSON can hold it. `Event.from_dict` is the way back."""
        return {
            "source": self.source,
            "id": self.id,
            "type": self.type,
            "raw": None if self.raw is None else base64.b64encode(self.raw).decode(),
            "body_hash": None if self.body_hash is None else self.body_hash.hex(),
            "generation": self.generation,
            "replayed": self.replayed,
            "received_at": self.received_at,
            "signed_at": self.signed_at,
            "binding": None if self.binding is None else [self.binding[0], self.binding[1].hex()],
        }

    @classmethod
    def from_dict(cls, message: dict[str, Any]) -> Event:
        """The event of a message that `to_dict` made."""
        known = dict(message)
        raw, body_hash, binding = known.pop("raw"), known.pop("body_hash"), known.pop("binding")
        return cls(
            **known,
            raw=None if raw is None else base64.b64decode(raw),
            body_hash=None if body_hash is None else bytes.fromhex(body_hash),
            binding=None if binding is None else (binding[0], bytes.fromhex(binding[1])),
        )

    @classmethod
    def from_native(cls, native: NativeEvent, request_body: bytes) -> Event:
        """An event that the native module has verified. Filled in directly: every delivery takes this path, and there is
        nothing left to check."""
        event = object.__new__(cls)
        body = native.body
        event.__dict__.update(
            source=native.source,
            id=native.event_id,
            type=native.event_type,
            raw=request_body if body is None else body,
            body_hash=native.body_hash,
            generation=native.generation,
            replayed=native.replayed,
            received_at=native.received_at,
            signed_at=native.signed_at,
            secret_index=native.secret_index,
            batch_index=native.batch_index,
            via_hapax=native.via_hapax,
            binding=native.binding,
        )
        return event
