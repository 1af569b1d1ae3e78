"""Keys that a provider publishes, fetched when a signature names one for the first time."""

from __future__ import annotations

import http.client
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from hapax_webhooks._native import KeyRequest

KEY_BYTES_MAX = 64 * 1024
KEYS_MAX = 32
FETCH_SECONDS_MAX = 5
FETCHES_MAX = 3
"""For one request: a provider may need a token first, and then an answer."""


class PublishedKeys:
    """The published keys of one source."""

    def __init__(self) -> None:
        self.known: dict[str, bytes | str] = {}

    def fetch(self, request: KeyRequest) -> bytes | None:
        """Fetches a key over https, without following redirects; None if that fails. The native module has checked
        the URL against the provider's hosts. Only published keys are remembered: what else is fetched is about one
        request."""
        try:
            content = _get(request.url, request.body, dict(request.headers))
        except (OSError, http.client.HTTPException, UnicodeError):
            return None
        if content is None or request.expects.encode() not in content:
            return None
        if request.kind == "published":
            # Replaced as a whole, because other threads read it meanwhile.
            newest = [*self.known.items()][1 - KEYS_MAX :]
            self.known = {**dict(newest), request.key_id: content}
        return content


def is_confirmed(url: str) -> bool:
    """Calls a URL that the provider wants called, and which the native module has checked."""
    try:
        return _get(url, None, {}) is not None
    except (OSError, http.client.HTTPException, UnicodeError):
        return False


def _get(address: str, body: bytes | None, headers: dict[str, str]) -> bytes | None:
    """The content, over https and without following redirects; None if the status is not 2xx, or it is too long."""
    url = urlsplit(address)
    if url.scheme != "https" or url.hostname is None:
        return None
    connection = http.client.HTTPSConnection(
        url.hostname, url.port, timeout=FETCH_SECONDS_MAX, context=ssl.create_default_context()
    )
    try:
        target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        connection.request("GET" if body is None else "POST", target, body, headers)
        response = connection.getresponse()
        content = response.read(KEY_BYTES_MAX + 1)
        return content if 200 <= response.status < 300 and len(content) <= KEY_BYTES_MAX else None
    finally:
        connection.close()
