"""Verifies deliveries. Reads them from standard input, and prints the reason of each refusal."""

import base64
import json
import sys
from datetime import datetime, timezone

from team_customer_client import WebhookVerificationError, verify_webhook


def reason_of(given: dict) -> str:
    try:
        verify_webhook(
            base64.b64decode(given["body"]),
            given["headers"],
            given["secret"],
            now=datetime.fromtimestamp(given["now"], timezone.utc),
        )
        return "accepted"
    except WebhookVerificationError as error:
        return error.reason


given = json.load(sys.stdin)
print(json.dumps([reason_of(one) for one in given]))

# Headers as frameworks have them, of the first delivery, and wrong calls.
first = given[0]
body, secret = base64.b64decode(first["body"]), first["secret"]
now = datetime.fromtimestamp(first["now"], timezone.utc)
[signature] = [value for name, value in first["headers"] if name.lower() == "svc-signature"]
for headers in (
    {"Svc-Signature": signature},
    {"SVC-SIGNATURE": [signature], "other": None},
    [(b"host", b"x"), (b"svc-signature", signature.encode())],
    iter([("Svc-Signature", signature)]),
):
    assert verify_webhook(body, headers, secret, now=now)["id"] != ""
for text in (body.decode(), bytearray(body), memoryview(body)):
    assert verify_webhook(text, first["headers"], secret, now=now)["id"] != ""
for wrong in ((json.loads(body), secret), (body, ""), (body, None), (None, secret)):
    try:
        verify_webhook(wrong[0], first["headers"], wrong[1], now=now)
        raise AssertionError("a wrong call was accepted")
    except TypeError:
        pass
try:
    verify_webhook(body, first["headers"], secret, now=now, tolerance_s=float("nan"))
    raise AssertionError("no time is within a tolerance of NaN")
except WebhookVerificationError as error:
    assert error.reason == "timestamp_too_old"
