from urllib.parse import parse_qs, urlencode

import braintree

LIBRARY = "braintree"
SIGNED = r"(?<=bt_payload=)\w+"


def gateway(secret):
    environment = braintree.Environment.Sandbox
    return braintree.BraintreeGateway(
        braintree.Configuration(environment, merchant_id="sample", public_key="sample_public_key", private_key=secret)
    )


def sign(event):
    kind = braintree.WebhookNotification.Kind.SubscriptionWentPastDue
    return {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(
        gateway(event.secret).webhook_testing.sample_notification(kind, event.id)
    )


def verify(request, secret):
    form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    notification = gateway(secret).webhook_notification.parse(form["bt_signature"], form["bt_payload"])
    return notification.subscription.id != ""
