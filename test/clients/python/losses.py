"""Makes one call of each kind to a server that loses an answer. Prints what came of them."""

import json
import os

from team_customer_client import Client

with Client(
    api_key=os.environ["API_KEY"], base_url=os.environ["API_URL"], timeout_s=3
) as client:
    # The API has answered once, so its address is right.
    client.me.get()
    made = client.members.create(email=os.environ["EMAIL"])
    case = client.cases.update(case_id=os.environ["CASE_ID"], title="Changed")
    gone = client.cases.remove(case_id=os.environ["CASE_ID"])
    print(json.dumps([made["email"], case["title"], gone]))
