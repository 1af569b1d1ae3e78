import base64
import json

import django
from django.conf import settings
from django.test import RequestFactory, override_settings

settings.configure(ALLOWED_HOSTS=["127.0.0.1"])
django.setup()

from anymail.webhooks.postmark import PostmarkTrackingWebhookView  # noqa: E402

LIBRARY = "django-anymail"
# Nothing is signed: the URL has a user name and a password.
TOKEN = "authorization"


def sign(event):
    body = {"RecordType": "Delivery", "MessageID": event.id, "Recipient": "ada@example.com", "DeliveredAt": "2026-01-01T00:00:00Z"}
    authorization = "Basic " + base64.b64encode(event.secret.encode()).decode()
    return {"Content-Type": "application/json", "Authorization": authorization}, json.dumps(body)


def verify(request, secret):
    received = RequestFactory(HTTP_HOST="127.0.0.1").post(
        "/", request.body, content_type="application/json", HTTP_AUTHORIZATION=request.headers["authorization"]
    )
    with override_settings(ANYMAIL={"WEBHOOK_SECRET": secret}):
        return PostmarkTrackingWebhookView.as_view()(received).status_code == 200
