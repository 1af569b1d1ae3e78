"""Runs the adapters in Python: one JSON document per line in, one per line out.

An adapter is a file in adapters/python, named after the provider:

    LIBRARY, SIGNER      the library's name in requirements.txt; the name of another one if that signs
    sign(event)          the provider's headers and body, and the URL if it is signed as sent: made with the library if
                         it can sign, and otherwise as the provider documents it; the event has an `id`, a `secret` and
                         the `url` that it goes to
    verify(request, secret)
                         False or an exception if the library refuses; the request has `method`, `url`, `headers`
                         (names in lower case) and `body`
    SIGNED, TOKEN        if the provider does not sign every byte of the body: a pattern for the signed part, or the
                         header that has its token
"""

import base64
import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

adapters = {}


def adapter(provider):
    if provider not in adapters:
        path = Path(__file__).parent / "adapters" / "python" / f"{provider}.py"
        # Under a different name: the library often has the same name as the file.
        spec = importlib.util.spec_from_file_location(f"adapter_{provider}", path)
        adapters[provider] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(adapters[provider])
    return adapters[provider]


def describe(module, _):
    return {
        "library": module.LIBRARY,
        "version": importlib.metadata.version(module.LIBRARY),
        "signed": getattr(module, "SIGNED", None),
        "token": getattr(module, "TOKEN", None),
    }


def sign(module, message):
    event = SimpleNamespace(**message["event"])
    headers, body, *url = module.sign(event)
    body = body.encode() if isinstance(body, str) else body
    return {
        "method": "POST",
        "url": url[0] if url else event.url,
        "headers": {name.lower(): str(value) for name, value in headers.items()},
        "body": base64.b64encode(body).decode(),
    }


def verify(module, message):
    request = SimpleNamespace(**message["request"])
    request.body = base64.b64decode(request.body)
    try:
        answer = module.verify(request, message["secret"])
    except Exception as error:
        return {"accepted": False, "why": f"{type(error).__name__}: {error}"}
    return {"accepted": answer is not False, "why": repr(answer)[:200]}


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # Some libraries print.
    for line in sys.stdin:
        message = json.loads(line)
        try:
            call = {"describe": describe, "sign": sign, "verify": verify}[message["call"]]
            answer = call(adapter(message["provider"]), message)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


main()
