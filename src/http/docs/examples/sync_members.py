import csv
import os
import sys
from team_customer_client import ApiError, Client

# More at once are rather a mistake in the file.
MOST_LEAVERS = 5

with open("people.csv", newline="", encoding="utf-8-sig") as file:
    # A spreadsheet saves an empty row as a line of commas.
    rows = [row for row in csv.DictReader(file) if row["email"].strip()]
people = {row["email"].strip().lower(): row["role"].strip() for row in rows}
if not people:
    sys.exit("people.csv lists nobody.")
url = os.environ.get("API_URL", "https://api.example.com/api/public/v1")
client = Client(os.environ["API_KEY"], url)
members = list(client.members.list(limit=200))
if any("email" not in member for member in members):
    sys.exit("The team hides the addresses of its members.")

known = {email.lower(): member for member in members if (email := member.get("email"))}
leavers = [
    (email, member["id"])
    for email, member in known.items()
    if email not in people and member["role"] != "owner"
]
if len(leavers) > MOST_LEAVERS and "--many" not in sys.argv:
    sys.exit(f"{len(leavers)} members are not in the file. If that is right, add --many.")

# Leavers first: their seats become free.
changes = leavers + [(email, None) for email in people if email not in known]
failed = 0
for email, member_id in changes:
    try:
        if member_id is None:
            client.members.create(email=email, role=people[email])
        else:
            client.members.remove(member_id=member_id)
        print(email, "is invited" if member_id is None else "has left")
    except ApiError as error:
        failed += 1
        print(email, error)
        if error.status == 429:
            # Sixty invitations an hour: run it again later.
            break
sys.exit(1 if failed else 0)
