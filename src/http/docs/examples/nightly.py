import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from team_customer_client import Client

# The file stands for your database.
FILE = Path("copy.json")
EMPTY = {"at": None, "trainings": {}, "assignments": {}, "members": {}}
# For what was being stored when the last run began, and for a clock that is wrong.
OVERLAP = timedelta(hours=1)

copy = json.loads(FILE.read_text()) if FILE.exists() else EMPTY
began = datetime.now(timezone.utc)
last = copy["at"] or "1970-01-02T00:00:00+00:00"
since = datetime.fromisoformat(last) - OVERLAP

url = os.environ.get("API_URL", "https://api.example.com/api/public/v1")
with Client(os.environ["API_KEY"], url) as client:
    results = client.evaluations.list(updated_since=since, include="evaluation", limit=200)
    for training in results:
        copy["trainings"][training["id"]] = training
    for assignment in client.assignments.list(updated_since=since, limit=200):
        copy["assignments"][assignment["id"]] = assignment
    copy["members"] = {member["id"]: member for member in client.members.list(limit=200)}

# Only now: after an error, the next run begins where this one did.
copy["at"] = began.isoformat()
new = FILE.with_suffix(".new")
new.write_text(json.dumps(copy))
new.replace(FILE)
