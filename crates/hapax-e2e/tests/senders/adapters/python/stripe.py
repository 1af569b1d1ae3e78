import json
import time

import stripe

LIBRARY = "stripe"


def sign(event):
    body = json.dumps({"id": event.id, "object": "event", "type": "payment_intent.succeeded", "data": {"object": {"id": "pi_1", "object": "payment_intent"}}})
    timestamp = int(time.time())
    signature = stripe.WebhookSignature._compute_signature(f"{timestamp}.{body}", event.secret)
    return {"Content-Type": "application/json", "Stripe-Signature": f"t={timestamp},v1={signature}"}, body


def verify(request, secret):
    stripe.Webhook.construct_event(request.body, request.headers["stripe-signature"], secret)
