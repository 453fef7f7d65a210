import hashlib
import hmac
import json
import os
import re
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = os.environ.get("WEBHOOK_SECRET", "").encode()
if not SECRET:
    raise SystemExit("WEBHOOK_SECRET is missing")


def is_genuine(signature, body):
    t = re.match(r"t=(\d+)", signature)
    if not t or abs(time.time() - int(t[1])) > 300:
        return False
    expected = hmac.new(SECRET, t[1].encode() + b"." + body, hashlib.sha256).hexdigest()
    # There are two while a secret is being changed.
    given = re.findall(r"v1=([0-9a-f]{64})", signature)
    return any(hmac.compare_digest(expected, v1) for v1 in given)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        genuine = is_genuine(self.headers.get("Svc-Signature", ""), body)
        if genuine:
            event = json.loads(body)
            print(event["type"], event["data"], flush=True)
        self.send_response(204 if genuine else 400)
        self.end_headers()


HTTPServer(("localhost", 4000), Receiver).serve_forever()
