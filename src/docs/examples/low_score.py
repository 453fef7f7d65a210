import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from team_customer_client import Client, NotFoundError, TeamCustomerError
from team_customer_client import WebhookVerificationError, verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]
LOW = 60
URL = os.environ.get("API_URL", "https://api.example.com/api/public/v1")
# A delivery has 10 seconds in all.
client = Client(os.environ["API_KEY"], URL, timeout_s=3, max_retries=1, retry_budget_s=2)


def assign(event_id, training_id):
    # A delivery can come again after two days, and an Idempotency-Key lasts for one.
    if client.assignments.list(external_ref_id=event_id).data:
        return
    training = client.trainings.get(training_id=training_id)
    # A practice does not lead to another practice.
    if training["assignment_id"] is not None:
        return
    for member in client.members.list(status="active", limit=200):
        if member["user_id"] == training["user_id"]:
            client.assignments.create(
                member_id=member["id"],
                title="Practise objections",
                situation_id="sit_cold",
                personality_id="per_calm",
                industry_id="ind_saas",
                external_ref={"id": event_id},
                # A refusal is kept with its key. In another hour the practice may be allowed.
                idempotency_key=f"{event_id}-{int(time.time() // 3600)}",
            )
            return


def respond(body, headers):
    try:
        event = verify_webhook(body, headers, SECRET)
    except WebhookVerificationError:
        return 400
    if event["type"] != "evaluation.completed" or event.get("test"):
        return 204
    score = event["data"].get("score")
    try:
        if score is not None and score < LOW:
            assign(event["id"], event["data"]["training_id"])
    except NotFoundError:
        # The training of somebody who has left.
        return 204
    except TeamCustomerError as error:
        print(event["id"], error, flush=True)
        # The delivery is tried again.
        return 500
    return 204


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(respond(body, self.headers))
        self.end_headers()


ThreadingHTTPServer(("localhost", 4000), Receiver).serve_forever()
