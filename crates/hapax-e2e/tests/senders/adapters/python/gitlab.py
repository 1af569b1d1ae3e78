import json

from gidgetlab.sansio import Event

LIBRARY = "gidgetlab"
TOKEN = "x-gitlab-token"


def sign(event):
    return {
        "Content-Type": "application/json",
        "Idempotency-Key": event.id,
        "X-Gitlab-Event": "Push Hook",
        "X-Gitlab-Token": event.secret,
    }, json.dumps({"object_kind": "push"})


def verify(request, secret):
    Event.from_http(request.headers, request.body, secret=secret)
