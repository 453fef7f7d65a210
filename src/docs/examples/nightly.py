import json
import os
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from team_customer_client import Client, HttpTransport, Request, Response

# The file stands for your database.
FILE = Path("copy.json")
EMPTY = {"at": None, "trainings": {}, "assignments": {}, "members": {}}
# For what was being stored when the last run began.
OVERLAP = timedelta(minutes=5)
# By the API's clock: that of this machine may be wrong.
dates: list[str] = []


class Dated(HttpTransport):
    def __call__(self, request: Request) -> Response:
        response = super().__call__(request)
        if response.status == 200:
            dates.append(response.headers["date"])
        return response


copy = json.loads(FILE.read_text()) if FILE.exists() else EMPTY
last = copy["at"] or "1970-01-02T00:00:00+00:00"
since = datetime.fromisoformat(last) - OVERLAP

url = os.environ.get("API_URL", "https://api.example.com/api/public/v1")
with Client(os.environ["API_KEY"], url, transport=Dated()) as client:
    # First, so that whoever joins while the job runs is new to the next run.
    members = {member["id"]: member for member in client.members.list(limit=200)}

    results = client.evaluations.list(updated_since=since, include="evaluation", limit=200)
    for training in results:
        copy["trainings"][training["id"]] = training
    for assignment in client.assignments.list(updated_since=since, limit=200):
        copy["assignments"][assignment["id"]] = assignment

    # Somebody who comes back has old results, which do not count as changed.
    for member in members.values():
        known = copy["members"].get(member["id"], {}).get("user_id")
        user_id = member["user_id"]
        if copy["at"] is None or user_id is None or known == user_id:
            continue
        theirs = client.trainings.list(
            user_id=user_id, status="scored", include="evaluation", limit=200
        )
        for training in theirs:
            copy["trainings"][training["id"]] = training
    copy["members"] = members

# Only now: after an error, the next run begins where this one did.
copy["at"] = parsedate_to_datetime(dates[0]).isoformat()
new = FILE.with_suffix(".new")
new.write_text(json.dumps(copy))
new.replace(FILE)
