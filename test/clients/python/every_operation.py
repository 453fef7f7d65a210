"""A customer's program that uses every operation of the Python client on the demo team.

It prints the requests that it made. With MODE=async it does the same through the AsyncClient.
"""

import asyncio
import inspect
import json
import os
from datetime import date, datetime, timezone
from typing import Any
from urllib.parse import urlsplit

from team_customer_client import (
    ApiError,
    AsyncClient,
    AsyncPagedList,
    BatchRefusedError,
    Client,
    ConflictError,
    HttpTransport,
    NotFoundError,
    Request,
    Response,
    ValidationError,
)
from team_customer_client.models import AssignmentCreate

requests: list[str] = []
http = HttpTransport()


def transport(request: Request) -> Response:
    requests.append(f"{request.method} {urlsplit(request.url).path}")
    return http(request)


class Blocking:
    """Makes of an AsyncClient, and of its groups, what a Client is."""

    def __init__(self, runner: asyncio.Runner, inner: Any) -> None:
        self._runner = runner
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if isinstance(found, str):
            return found
        if not inspect.ismethod(found):
            return Blocking(self._runner, found)

        def call(**options: Any) -> Any:
            result = found(**options)
            if isinstance(result, AsyncPagedList):
                return BlockingList(self._runner, result)
            return self._runner.run(result)

        return call


class BlockingList:
    def __init__(self, runner: asyncio.Runner, inner: AsyncPagedList[Any, Any]) -> None:
        async def read() -> Any:
            return await inner

        async def read_all() -> list[Any]:
            return [one async for one in inner]

        page = runner.run(read())
        self.data, self.next_cursor = page.data, page.next_cursor
        self._read_all = lambda: runner.run(read_all())

    def __iter__(self) -> Any:
        return iter(self._read_all())


def make_client(api_key: str) -> Any:
    options: Any = {"base_url": os.environ["API_URL"], "transport": transport}
    if os.environ["MODE"] == "async":
        client = AsyncClient(api_key=api_key, **options)
        return Blocking(asyncio.Runner(), client)
    return Client(api_key=api_key, **options)


client: Client = make_client(os.environ["API_KEY"])


def require(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(f"not as expected: {what}")


def read_everything() -> None:
    me = client.me.get()
    require("webhooks:manage" in me["scopes"], "the scopes")
    try:
        client.requests.get(request_id="none")
        raise AssertionError("there is a log")
    except NotFoundError as error:
        require(error.request_id in str(error), "the request in the text")

    first = client.members.list(limit=3)
    ids = [member["id"] for member in client.members.list(limit=3)]
    require(len(first.data) == 3 and first.next_cursor is not None, "a page")
    require(len(ids) > 6 and len(set(ids)) == len(ids), "all members")
    require(ids[:3] == [member["id"] for member in first.data], "the same order")
    require(client.members.get(member_id="mem_01jc4f3x")["role"] == "member", "a role")

    since = datetime(2020, 1, 1, tzinfo=timezone.utc)
    scored = client.trainings.list(status="scored", since=since, limit=1)
    training_id = scored.data[0]["id"]
    require(client.trainings.get(training_id=training_id)["status"] == "scored", "a training")
    require(len(client.evaluations.list().data) > 0, "evaluations")
    require(len(client.evaluations.get(training_id=training_id)["tips"]) >= 0, "tips")
    require(len(client.catalog.get()["situation"]) > 0, "the catalog")
    require(len(client.analytics.team()["trend"]) == 12, "the trend")
    for deal in client.crm.list_deals():
        require(deal["external_id"] != "", "a deal")
    for objection in client.crm.list_objections():
        require(objection["text"] != "", "an objection")
    require(len(client.events.list(type="ping").data) >= 0, "events")


def change_assignments() -> None:
    created = client.assignments.create(
        member_id="mem_01jc4f3x",
        title="Practise objections: „Außendienst“ 🎧",
        situation_id="sit_cold",
        personality_id="per_calm",
        industry_id="ind_saas",
        due_date=date(2026, 12, 1),
    )
    assignment_id = created["id"]
    require(created["title"] == "Practise objections: „Außendienst“ 🎧", "its title")
    require(client.assignments.list(limit=1).data[0]["id"] == assignment_id, "listed")
    found = client.assignments.get(assignment_id=assignment_id)
    require(found["due_date"] == "2026-12-01", "a date")
    changed = client.assignments.update(assignment_id=assignment_id, status="done", note=None)
    require(changed["status"] == "done", "done")
    same = client.assignments.update(assignment_id=assignment_id)
    require(same["status"] == "done" and same["due_date"] == "2026-12-01", "unchanged")
    cleared = client.assignments.update(assignment_id=assignment_id, due_date=None)
    require(cleared["due_date"] is None, "cleared")
    require(client.assignments.remove(assignment_id=assignment_id)["ok"], "removed")
    try:
        client.assignments.get(assignment_id=assignment_id)
        raise AssertionError("it is still there")
    except ApiError as error:
        require(error.code == "not_found" and error.status == 404, "gone")


def create_many() -> None:
    right: AssignmentCreate = {
        "member_id": "mem_01jc4f3x",
        "title": "Practise objections",
        "situation_id": "sit_cold",
        "personality_id": "per_calm",
        "industry_id": "ind_saas",
        "due_date": date(2026, 12, 1),
    }
    unknown: AssignmentCreate = {**right, "member_id": "nobody"}
    made = client.assignments.create_batch(assignments=[right, unknown])
    first, second = made["results"]
    require(made["created"] == 1 and first["assignment"] is not None, "one of two")
    require(second["problem"] is not None and second["problem"]["code"] == "not_found", "the other")
    try:
        client.assignments.create_batch(assignments=(right, unknown), all_or_none=True)
        raise AssertionError("a wrong entry was accepted")
    except BatchRefusedError as error:
        require([one["index"] for one in error.problem["entries"]] == [1], "all or none")


def change_cases() -> None:
    key = f"one-case-{os.environ['MODE']}"

    def create() -> str:
        fields = {"budget": 12_000}
        made = client.cases.create(user_id="usr_01jc4f40", fields=fields, idempotency_key=key)
        return made["id"]

    case_id = create()
    require(create() == case_id, "created once")
    require(client.cases.list(user_id="usr_01jc4f40").data[0]["id"] == case_id, "listed")
    require(client.cases.get(case_id=case_id)["title"] is None, "no title")
    require(client.cases.update(case_id=case_id, title="Renewal")["title"] == "Renewal", "titled")
    require(client.cases.remove(case_id=case_id)["ok"], "removed")


def change_webhooks() -> None:
    webhooks = client.webhooks
    events = ["assignment.created"]
    endpoint = webhooks.create_endpoint(url="http://127.0.0.1:9/hooks", events=events)
    endpoint_id = endpoint["id"]
    require((endpoint.get("secret") or "").startswith("whsec_"), "a secret")
    require(endpoint_id in [one["id"] for one in webhooks.list_endpoints()], "listed")
    require(webhooks.get_endpoint(endpoint_id=endpoint_id)["status"] == "active", "read")
    begin = datetime(2026, 1, 1, tzinfo=timezone.utc)
    resend_id = webhooks.resend_deliveries(endpoint_id=endpoint_id, since=begin)["id"]
    require(webhooks.get_resend(resend_id=resend_id)["endpoint_id"] == endpoint_id, "a resend")
    require(webhooks.cancel_resend(resend_id=resend_id)["id"] == resend_id, "no resend any more")
    paused = webhooks.update_endpoint(endpoint_id=endpoint_id, status="disabled")
    require(paused["status"] == "disabled", "paused")
    rotated = webhooks.rotate_secret(endpoint_id=endpoint_id, grace_s=60)
    require(rotated.get("secret") != endpoint.get("secret"), "another secret")
    delivery_id = webhooks.test_endpoint(endpoint_id=endpoint_id)["delivery_id"]
    deliveries = webhooks.list_deliveries(endpoint_id=endpoint_id, limit=1)
    require(deliveries.data[0]["id"] == delivery_id, "queued")
    try:
        webhooks.retry_delivery(delivery_id=delivery_id)
        raise AssertionError("one that waits for its first attempt was retried")
    except ValidationError:
        pass
    require(webhooks.remove_endpoint(endpoint_id=endpoint_id)["ok"], "removed")


def change_members() -> None:
    email = "kim@example.com"
    member_id = client.members.create(email=email, role="member", lang="en")["id"]
    try:
        client.members.create(email=email)
        raise AssertionError("invited twice")
    except ConflictError:
        pass
    require(client.members.update(member_id=member_id, role="admin")["role"] == "admin", "admin")
    require(client.members.remove(member_id=member_id)["ok"], "removed")
    try:
        client.members.create(email="no address")
        raise AssertionError("invited nobody")
    except ValidationError as error:
        require("body.email" in str(error) and error.errors[0]["path"] == "body.email", "a field")


def rehearse() -> None:
    require(client.mode == "live", "a live key")
    try:
        client.sandbox.get()
        raise AssertionError("a live key has a sandbox")
    except NotFoundError:
        pass
    test: Client = make_client(os.environ["TEST_KEY"])
    require(test.mode == "test", "a test key")
    require(test.sandbox.reset(scenario="typical")["scenario"] == "typical", "reset")
    require(test.sandbox.update(speed=60)["speed"] == 60, "the speed")
    require(test.sandbox.get()["speed"] == 60, "the sandbox")
    training_id = test.sandbox.simulate(play="training_completed", delay_s=0)["training_id"] or ""
    require(test.evaluations.get(training_id=training_id)["score"]["total"] == 71, "its score")
    test.members.create(email=f"{os.environ['MODE']}@example.com")
    for mail in test.sandbox.mails():
        require(mail["subject"] != "", "a mail")


read_everything()
change_assignments()
create_many()
change_cases()
change_webhooks()
change_members()
rehearse()
print(json.dumps(requests))
