import hashlib
import json
import time

import jwt

# Plaid's documentation verifies with a JWT library; Plaid's own library cannot.
LIBRARY = "PyJWT"
SIGNER = "cryptography"


def sign(event):
    body = json.dumps({"webhook_type": "ITEM", "webhook_code": "NEW_ACCOUNTS_AVAILABLE", "item_id": event.id}).encode()
    key = json.loads(event.secret)
    claims = {"iat": int(time.time()), "request_body_sha256": hashlib.sha256(body).hexdigest()}
    token = jwt.encode(claims, jwt.PyJWK(key).key, algorithm="ES256", headers={"kid": key["kid"]})
    return {"Content-Type": "application/json", "Plaid-Verification": token}, body


def verify(request, secret):
    token, key = request.headers["plaid-verification"], json.loads(secret)
    if jwt.get_unverified_header(token)["kid"] != key["kid"]:
        return False
    claims = jwt.decode(token, jwt.PyJWK(key).key, algorithms=["ES256"])
    fresh = time.time() - claims["iat"] < 300
    return fresh and claims["request_body_sha256"] == hashlib.sha256(request.body).hexdigest()
