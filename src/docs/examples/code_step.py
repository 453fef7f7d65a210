import hashlib
import hmac
import json
import re
import time

# The Input Data of the step: the raw body, the header Svc-Signature, and the secret.
body, signature, secret = input_data["body"], input_data["signature"], input_data["secret"]
if not secret:
    raise ValueError("There is no secret.")
t = (re.findall(r"t=(\d+)", signature) or ["0"])[0]
signed = f"{t}.{body}".encode()
expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
given = re.findall(r"v1=([0-9a-f]{64})", signature)
# An error ends the run, so that no later step acts.
if not any(hmac.compare_digest(expected, v1) for v1 in given):
    raise ValueError("Not sent by the Team Customer API.")
if abs(time.time() - int(t)) > 300:
    raise ValueError("Too old.")
event = json.loads(body)
output = {"id": event["id"], "type": event["type"], **event["data"]}
