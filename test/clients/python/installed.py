"""Looks at the installed package: its record, and whether every annotation resolves."""

import base64
import hashlib
import importlib
import inspect
import json
import pkgutil
import typing
from importlib.metadata import distribution

import team_customer_client

found = distribution("team-customer-client")
for file in found.files or []:
    if file.hash is None:
        continue
    digest = hashlib.sha256(file.read_binary()).digest()
    text = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert file.hash.value == text, file

count = 0
for info in pkgutil.iter_modules(team_customer_client.__path__):
    module = importlib.import_module(f"team_customer_client.{info.name}")
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            typing.get_type_hints(value)
        elif inspect.isclass(value):
            typing.get_type_hints(value)
            for method in vars(value).values():
                if inspect.isfunction(method):
                    typing.get_type_hints(method)
                    count += 1

client = team_customer_client.Client("svck_live_x", "https://team.example/api/public/v1")
names = {
    f"{group}.{name}"
    for group, operations in vars(client).items()
    if not group.startswith("_")
    for name in dir(operations)
    if not name.startswith("_")
}
print(json.dumps({
    "version": found.version,
    "requires": found.requires or [],
    "methods": count,
    "operations": sorted(names),
    "all": all(hasattr(team_customer_client, name) for name in team_customer_client.__all__),
}))
