"""What the client makes of a server that the test scripts. Prints what came of each part."""

import asyncio
import json
import os
import pickle
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import team_customer_client as package
from team_customer_client import ApiConnectionError, ApiError, AsyncClient, Client

URL = os.environ["API_URL"]
KEY = "svck_live_do_not_show_this"
PATH = "/api/public/v1"


def make(part: str, **options: Any) -> Client:
    return Client(KEY, f"{URL}/{part}{PATH}", **options)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call came to, how long it took in seconds, and whether its error shows the key."""
    started = time.monotonic()
    leaks = False
    try:
        result: Any = call()
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
        report = traceback.TracebackException.from_exception(error, capture_locals=True)
        leaks = KEY in "".join(report.format())
    return {"result": result, "seconds": time.monotonic() - started, "leaks": leaks}


def retried_async() -> Any:
    async def main() -> Any:
        async with AsyncClient(KEY, f"{URL}/retried-async{PATH}") as client:
            return await client.members.create(email="kim@example.com")

    return asyncio.run(main())


def cancelled() -> Any:
    async def main() -> Any:
        async with AsyncClient(KEY, f"{URL}/busy{PATH}") as client:
            await asyncio.wait_for(client.me.get(), 1.5)

    return asyncio.run(main())


def together_async() -> Any:
    async def main() -> Any:
        async with AsyncClient(KEY, f"{URL}/slow{PATH}") as client:
            found = await asyncio.gather(*(client.me.get() for _ in range(5)))
            return [one["tenant_id"] for one in found]

    return asyncio.run(main())


def pages() -> Any:
    return [one["id"] for one in make("pages").members.list(limit=2)]


def pages_async() -> Any:
    async def main() -> Any:
        async with AsyncClient(KEY, f"{URL}/pages{PATH}") as client:
            page = await client.members.list(limit=2)
            return [len(page.data)] + [one["id"] async for one in client.members.list(limit=2)]

    return asyncio.run(main())


def threads() -> Any:
    client = make("threads")
    found: list[str] = []

    def run() -> None:
        for _ in range(20):
            found.append(client.me.get()["tenant_id"])

    running = [threading.Thread(target=run) for _ in range(8)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    return [len(found), sorted(set(found))]


def forked() -> Any:
    """The child opens a connection of its own, although that of the parent is idle."""
    client = make("forked")
    client.me.get()
    child = os.fork()
    if child == 0:
        try:
            read = [client.catalog.get() for _ in range(5)]
            os._exit(0 if all(one == {"tenant_id": "team"} for one in read) else 1)
        finally:
            os._exit(2)
    # Only then, so that a connection of both would be seen.
    _, status = os.waitpid(child, 0)
    mine = [client.me.get()["tenant_id"] for _ in range(5)]
    return [mine, os.waitstatus_to_exitcode(status)]


def closed_in_child() -> Any:
    """The lock is held while the process is forked, so nobody in the child lets it go."""
    client = make("closed")
    client.me.get()
    lock = client._setup.transport._lock  # type: ignore
    with lock:
        child = os.fork()
        if child == 0:
            # Ends the process if it waits.
            signal.alarm(5)
            client.close()
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return [os.waitstatus_to_exitcode(status), client.me.get()["tenant_id"]]


def one_connection() -> Any:
    client = make("connections")
    return [client.me.get()["tenant_id"] for _ in range(5)]


def interim(kind: str, pause_s: float = 0.2) -> Any:
    """Whose answers the calls get. The pause is for what comes after an answer."""
    client = make(kind, max_retries=0)
    found: list[Any] = []
    for member_id in ["a", "b", "c"]:
        try:
            found.append(client.members.get(member_id=member_id)["id"])
        except ApiConnectionError as error:
            found.append(str(error))
        time.sleep(pause_s)
    return found


def pickled() -> Any:
    try:
        make("invalid").members.create(email="x")
    except ApiError as error:
        again = pickle.loads(pickle.dumps(error))
        return [type(again).__name__, str(again) == str(error)]
    return None


def unknown_code() -> Any:
    try:
        make("unknown").me.get()
    except ApiError as error:
        return [type(error) is ApiError, error.code, error.status]
    return None


def wrong(**options: Any) -> Callable[[], Any]:
    return lambda: Client(**{"api_key": KEY, "base_url": f"https://team.example{PATH}", **options})


def then_page() -> Any:
    """Once the API has answered, a page is one of a gateway that is in trouble."""
    client = make("then-page")
    client.me.get()
    return client.me.get()


def addresses(*more: tuple[str, int]) -> Any:
    """The host has three addresses that do not answer, and then those."""
    full = socket.create_server(("127.0.0.1", 0), backlog=0)
    # A queue that is full answers nobody.
    waiting = [socket.socket() for _ in range(4)]
    for one in waiting:
        one.setblocking(False)
        one.connect_ex(full.getsockname())
    real = socket.getaddrinfo
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 0, "", place)
        for place in [full.getsockname()] * 3 + list(more)
    ]
    socket.getaddrinfo = lambda *_args, **_options: found  # type: ignore
    try:
        return make("addresses", timeout_s=5, max_retries=0).me.get()
    finally:
        socket.getaddrinfo = real
        for one in [full, *waiting]:
            one.close()


def without_name(fault: int) -> Any:
    """The name server gives the name at the second try only."""
    real = socket.getaddrinfo

    def fail(*_args: Any, **_options: Any) -> Any:
        socket.getaddrinfo = real
        raise socket.gaierror(fault, "no name")

    socket.getaddrinfo = fail  # type: ignore
    return make("named").me.get()


def too_large(part: str, url: str = URL) -> Any:
    """Its answer comes before all of it is sent."""
    client = Client(KEY, f"{url}/{part}{PATH}", max_retries=0)
    try:
        client.cases.create(user_id="u", title=TOO_LONG)
    except ApiError as error:
        return [type(error).__name__, error.status, client.me.get()["tenant_id"]]
    return None


# More than a connection takes before anybody reads it.
TOO_LONG = "a title that is far too long to be sent at once" * 400_000

PARTS: dict[str, Callable[[], Any]] = {
    "retried": lambda: make("retried").members.create(email="kim@example.com"),
    "retried-async": retried_async,
    "cancelled": cancelled,
    "together-async": together_async,
    "pages": pages,
    "pages-async": pages_async,
    "threads": threads,
    "forked": forked,
    "closed in child": closed_in_child,
    "connections": one_connection,
    "hints": lambda: interim("hints"),
    "hints-at-once": lambda: interim("hints-at-once"),
    "surplus": lambda: interim("surplus", 1),
    "switched": lambda: interim("switched"),
    "drip": lambda: make("drip", timeout_s=1, max_retries=0).me.get(),
    "silent": lambda: make("silent", max_retries=0).me.get(timeout_s=1),
    "addresses": addresses,
    "last address": lambda: addresses((urlsplit(URL).hostname or "", urlsplit(URL).port or 0)),
    "invalid": lambda: make("invalid").members.create(email="x"),
    "unknown": unknown_code,
    "pickled": pickled,
    "budget": lambda: make("busy", retry_budget_s=10).me.get(),
    "website": lambda: make("website").me.get(),
    "redirect": lambda: make("redirect").me.get(),
    "then-page": then_page,
    "no host": lambda: without_name(socket.EAI_NONAME),
    "no name yet": lambda: without_name(socket.EAI_AGAIN),
    "lost": lambda: make("lost", max_retries=1).cases.create(
        user_id="u", title=TOO_LONG
    ),
    "early": lambda: too_large("early"),
    "early-tls": lambda: too_large("early-tls", os.environ["TLS_URL"]),
    "refused": lambda: Client(KEY, f"http://127.0.0.1:9{PATH}", max_retries=1).me.get(),
    "repr": lambda: [repr(make("x")), repr(AsyncClient(KEY, f"{URL}{PATH}"))],
    "no key": wrong(api_key=""),
    "setting missing": wrong(api_key=None),
    "key with a line": wrong(api_key=f"{KEY}\n"),
    "no path": wrong(base_url="https://team.example/"),
    "no scheme": wrong(base_url=f"team.example{PATH}"),
    "a query": wrong(base_url=f"https://team.example{PATH}?x=1"),
    "a password": wrong(base_url=f"https://me:{KEY}@team.example{PATH}"),
    "bad port": wrong(base_url=f"https://team.example:x{PATH}"),
    "empty id": lambda: make("x").cases.remove(case_id=""),
    "dots": lambda: make("x").cases.remove(case_id=".."),
    "id of None": lambda: make("x").cases.remove(case_id=None),  # type: ignore
    "no time zone": lambda: make("x").trainings.list(since=__import__("datetime").datetime.now()),
    "nan": lambda: make("x").cases.create(user_id="u", fields={"a": float("nan")}),
    "bad idempotency key": lambda: make("x").cases.create(user_id="u", idempotency_key="a\nb"),
    "no such field": lambda: make("x").members.create(emial="x"),  # type: ignore
    "inputs": lambda: [
        make("echo").assignments.update(assignment_id="a/b ?ü", note=None),
        make("echo").assignments.update(assignment_id="a"),
        make("echo").webhooks.test_endpoint(endpoint_id="whe_1"),
        make("echo").webhooks.test_endpoint(endpoint_id="whe_1", event_type="member.joined"),
        make("echo").cases.remove(case_id="cas_1"),
    ],
    "version": lambda: package.__version__,
}

parts = os.environ.get("PARTS", "").split(",") if os.environ.get("PARTS") else list(PARTS)
print(json.dumps({name: outcome(PARTS[name]) for name in parts}))
