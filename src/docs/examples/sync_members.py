import csv
import os
import re
import sys
import unicodedata
from team_customer_client import ApiError, Client

ATOM = r"[\w!#$%&'*+/=?^`{|}~-]+"
LABEL = r"(?!xn--)(?:[^\W_]|\b-+\b)+"
ADDRESS = re.compile(rf"{ATOM}(?:\.{ATOM})*@(?:{LABEL}\.)+(?!\d+$){LABEL}")


def decode(label):
    return label[1].encode().decode("punycode", "replace")


def normalize(address):
    """As the service compares addresses: Kim@xn--mller-kva.de is kim@müller.de."""
    local, _, domain = unicodedata.normalize("NFC", address.strip()).lower().rpartition("@")
    encoded = re.compile(r"(?<![^.])xn--([a-z0-9-]+)")
    return f"{local}@{encoded.sub(decode, domain)}"


# The whole file is checked before anybody is removed.
try:
    with open("people.csv", newline="", encoding="utf-8-sig") as file:
        separator = max(",;\t", key=file.readline().count)
        file.seek(0)
        headings, *rows = [*csv.reader(file, delimiter=separator, strict=True)] or [[]]
except (OSError, UnicodeError, csv.Error) as error:
    sys.exit(f"people.csv is not CSV in UTF-8: {error}")
headings = [heading.strip().lower().replace("-", "") for heading in headings]
if not {"email", "role"} <= {*headings}:
    sys.exit("people.csv needs the columns email and role.")
people = {}
for number, row in enumerate(rows, 2):
    # A spreadsheet saves an empty row as a line of commas.
    if not "".join(row).strip():
        continue
    cells = dict(zip(headings, row))
    email, role = normalize(cells.get("email", "")), cells.get("role", "").strip().lower()
    letters = [sign for sign in email if unicodedata.category(sign)[0] != "M"]
    if not ADDRESS.fullmatch("".join(letters)) or role not in ("member", "admin", "owner"):
        sys.exit(f"people.csv, row {number}: needs an email, such as kim@example.com, and a role.")
    if people.setdefault(email, role) != role:
        sys.exit(f"people.csv, row {number}: {email} has another role above.")
if not people:
    sys.exit("people.csv lists nobody.")

url = os.environ.get("API_URL", "https://api.example.com/api/public/v1")
client = Client(os.environ["API_KEY"], url)
members = list(client.members.list(limit=200))
if any("email" not in member for member in members):
    sys.exit("The team hides the addresses of its members.")

known = {normalize(email): member for member in members if (email := member.get("email"))}
leavers = [
    (email, member["id"])
    for email, member in known.items()
    if email not in people and member["role"] != "owner"
]
# More at once are rather a mistake in the file.
if len(leavers) > min(5, len(known) / 2) and "--many" not in sys.argv:
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
