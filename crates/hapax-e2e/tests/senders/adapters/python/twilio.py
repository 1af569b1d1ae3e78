from urllib.parse import parse_qsl, urlencode

from twilio.request_validator import RequestValidator

LIBRARY = "twilio"


def sign(event):
    form = {"MessageSid": f"SM{event.id}", "MessageStatus": "delivered", "From": "+15005550006", "To": "+15005550009"}
    signature = RequestValidator(event.secret).compute_signature(event.url, form)
    return {
        "Content-Type": "application/x-www-form-urlencoded",
        "I-Twilio-Idempotency-Token": event.id,
        "X-Twilio-Signature": signature,
    }, urlencode(form)


def verify(request, secret):
    form = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
    return RequestValidator(secret).validate(request.url, form, request.headers["x-twilio-signature"])
