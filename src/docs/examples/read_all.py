import json
from urllib.parse import urlencode
from urllib.request import Request, urlopen


def read_all(path):
    query = {"limit": 200}
    while True:
        request = Request(
            f"https://api.example.com/api/public/v1{path}?{urlencode(query)}",
            headers={"Authorization": "Bearer YOUR_API_KEY"},
        )
        with urlopen(request) as response:
            page = json.load(response)
        yield from page["data"]
        if page["next_cursor"] is None:
            return
        query["cursor"] = page["next_cursor"]


for member in read_all("/users"):
    print(member["id"], member["role"])
