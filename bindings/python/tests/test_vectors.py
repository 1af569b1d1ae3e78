"""Every vector of every provider, through the native module: judged as in Rust."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from hapax_webhooks import _native

FOLDER = Path(__file__).resolve().parents[3] / "crates/hapax-verify/tests/vectors"
FILES: dict[str, list[dict[str, Any]]] = {
    file.stem: json.loads(file.read_text())["vectors"] for file in sorted(FOLDER.glob("*.json"))
}
PROVIDERS = {provider["name"]: provider for provider in _native.providers()}
# Ids that are not the provider's.
NOT_ITS_OWN = ("generated:", "unidentified:")
# What a library refuses although it is genuine. The first: the provider sends a secret, and there is nowhere to keep it. The
# second: a signature over an empty body says nothing about the query, so a GET is no delivery, as at the gateway.
REFUSED = {"asana-handshake": "handshake_refused", "zendesk-valid-empty-body": "method_not_allowed"}


def test_every_provider_has_vectors_and_every_file_a_provider() -> None:
    assert set(FILES) == set(PROVIDERS)


@pytest.mark.parametrize(
    ("provider", "vector"),
    [pytest.param(name, vector, id=vector["name"]) for name, vectors in FILES.items() for vector in vectors],
)
def test_vector(provider: str, vector: dict[str, Any]) -> None:
    for _ in range(2):
        received = received_by(provider, vector)
        expected = vector.get("expected_response")
        if vector["name"] in REFUSED:
            assert received.error is not None and received.error.code == REFUSED[vector["name"]]
        elif received.error is not None and received.error.confirmation is not None:
            assert received.error.confirmation.url == expected["outbound_get"]
            compare(expected, received.error.confirmation.reply)
        elif not vector["valid"]:
            assert received.error is not None and received.reply is not None
            assert expected is None or received.reply.status == expected["status"]
        elif received.error is not None:
            assert is_only_unidentified(vector, received.error), received.error.message
        elif received.events is None:
            assert expected is not None and received.reply is not None
            compare(expected, received.reply)
        else:
            compare_events(vector, received.events)


def received_by(provider: str, vector: dict[str, Any]) -> _native.Received:
    config = dict(vector["config"])
    keys = {
        name: key if isinstance(key, str) else json.dumps(key)
        for table in ("certificates", "jwks")
        for name, key in config.pop(table, {}).items()
    }
    secrets = vector["secrets"] + (vector.get("public_keys") or [])
    if not secrets and PROVIDERS[provider]["needs_secret"]:
        # A handshake that needs no secret is tried on a source that has one.
        secrets = next(other["secrets"] for other in FILES[provider] if other["secrets"])
    known = {option["name"] for option in PROVIDERS[provider]["options"]}
    options = {name: text(value) for name, value in config.items() if name in known}
    url = urlsplit(vector["url"])
    source = _native.Source.provider(provider, secrets, options, public_url=url._replace(query="").geturl())
    body = base64.b64decode(vector["body_base64"]) if "body_base64" in vector else (vector.get("body") or "").encode()
    headers = [(name, value.encode()) for name, value in vector["headers"].items()]
    return source.receive(vector["method"], url.query, headers, body, vector["now"], keys)


def text(value: Any) -> Any:
    """An option as hapax.toml has it: texts, lists or tables of texts."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def is_only_unidentified(vector: dict[str, Any], error: _native.Refusal) -> bool:
    """A published signature without an id: it is valid, but the delivery cannot be identified."""
    expects_none = not vector.get("expected_event_id") and not vector.get("expected_event_ids")
    return expects_none and error.code in ("event_id_missing", "malformed_body")


def compare_events(vector: dict[str, Any], events: list[_native.NativeEvent]) -> None:
    found = [{"id": provider_id(event.event_id), "type": event.event_type} for event in events]
    first = found[0] if found else {"id": None, "type": None}
    if "expected_event_ids" in vector:
        assert found == vector["expected_event_ids"]
    else:
        assert first["id"] == vector.get("expected_event_id")
    assert first["type"] == vector.get("expected_event_type")


def provider_id(event_id: str) -> str | None:
    """Unescaped; `%-` marks a part that is missing."""
    return None if event_id.startswith(NOT_ITS_OWN) else unquote(event_id.replace("%-", ""))


def compare(expected: dict[str, Any], reply: _native.Reply) -> None:
    headers = {name.lower(): value for name, value in reply.headers}
    assert reply.status == expected["status"]
    if "content_type" in expected:
        assert headers["content-type"].split(";")[0] == expected["content_type"]
    for name, value in expected.get("headers", {}).items():
        assert headers[name.lower()] == value
    if "body" in expected:
        assert reply.body.decode() == expected["body"]
    if "json" in expected:
        assert json.loads(reply.body) == expected["json"]
