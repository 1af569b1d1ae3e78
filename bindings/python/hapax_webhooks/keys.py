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
            content = _fetched(request)
        except (OSError, http.client.HTTPException, UnicodeError):
            return None
        if content is None or request.expects.encode() not in content:
            return None
        if request.kind == "published":
            # Replaced as a whole, because other threads read it meanwhile.
            newest = [*self.known.items()][1 - KEYS_MAX :]
            self.known = {**dict(newest), request.key_id: content}
        return content


def _fetched(request: KeyRequest) -> bytes | None:
    url = urlsplit(request.url)
    if url.scheme != "https" or url.hostname is None:
        return None
    connection = http.client.HTTPSConnection(
        url.hostname, url.port, timeout=FETCH_SECONDS_MAX, context=ssl.create_default_context()
    )
    try:
        target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        connection.request("GET" if request.body is None else "POST", target, request.body, dict(request.headers))
        response = connection.getresponse()
        content = response.read(KEY_BYTES_MAX + 1)
        return content if response.status == 200 and len(content) <= KEY_BYTES_MAX else None
    finally:
        connection.close()
