"""Sends the calls of operations: in this thread, or in others for asyncio."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Mapping
from typing import Any, Literal, Union
from urllib.parse import urlsplit

from ._facts import BASE_PATH, VERSION
from ._inputs import OMIT, check_idempotency_key, fill_path, to_body, to_query
from ._pages import AsyncPagedList, PagedList
from ._retries import RetryRules, Steps, Wait, call_steps
from ._transport import HttpTransport, Request, Response, Transport

Values = Mapping[str, object]
Mode = Literal["live", "test"]


class Setup:
    """What all calls of a client share. Its repr does not show the key."""

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        language: str,
        timeout_s: float,
        max_retries: int,
        retry_budget_s: float,
        transport: Transport | None,
    ) -> None:
        _check_key(api_key)
        self.mode: Mode = "test" if api_key.startswith("svck_test_") else "live"
        if language not in ("de", "en"):
            raise ValueError("language must be de or en")
        if not timeout_s > 0:
            raise ValueError("timeout_s must be more than 0")
        if max_retries < 0 or not retry_budget_s >= 0:
            raise ValueError("max_retries and retry_budget_s must not be negative")
        self.base_url = _check_base_url(base_url)
        self.timeout_s = timeout_s
        self.rules = RetryRules(max_retries, retry_budget_s)
        self.transport: Transport = transport or HttpTransport()
        # A function, so that no variable that an error report shows holds the key.
        self.headers = lambda: {
            "Authorization": f"Bearer {api_key}",
            "Accept-Language": language,
            "User-Agent": f"team-customer-client-python/{VERSION}",
        }

    def close(self) -> None:
        if isinstance(self.transport, HttpTransport):
            self.transport.close()

    def steps(
        self,
        method: str,
        path: str,
        *,
        parameters: Values = {},
        query: Values = {},
        body: Values | None = None,
        optional_body: Values | None = None,
        idempotency_key: str | None = None,
        timeout_s: float | None = None,
    ) -> Steps:
        """Prepares a call. Raises ValueError or TypeError before anything is sent."""
        if optional_body is not None and any(one is not OMIT for one in optional_body.values()):
            body = optional_body
        url = self.base_url + fill_path(path, parameters) + to_query(query)
        content = None if body is None else to_body(body)
        more: dict[str, str] = {}
        if content is not None:
            more["Content-Type"] = "application/json"
        if method == "POST":
            key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
            more["Idempotency-Key"] = check_idempotency_key(key)
        time_s = self.timeout_s if timeout_s is None else timeout_s
        if not time_s > 0:
            raise ValueError("timeout_s must be more than 0")
        request = Request(method, url, {**self.headers(), **more}, content, time_s)
        return call_steps(request, self.rules)


class Caller:
    """Calls in the thread of the caller."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def call(self, method: str, path: str, **options: Any) -> Any:
        """Returns the body of the success."""
        steps = self._setup.steps(method, path, **options)
        came: Union[Response, Exception, None] = None
        while True:
            try:
                step = steps.send(came)
            except StopIteration as end:
                return end.value
            if isinstance(step, Wait):
                time.sleep(step.seconds)
                came = None
            else:
                came = _attempt(self._setup.transport, step)

    def list(self, path: str, *, query: Values = {}, **options: Any) -> PagedList[Any, Any]:
        """Reads the first page."""

        def read(cursor: str) -> Any:
            return self.call("GET", path, query={**query, "cursor": cursor}, **options)

        return PagedList(self.call("GET", path, query=query, **options), read)


class AsyncCaller:
    """Calls in the threads of asyncio, one for each attempt. Waits take no thread."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """Returns the body of the success."""
        steps = self._setup.steps(method, path, **options)
        came: Union[Response, Exception, None] = None
        while True:
            try:
                step = steps.send(came)
            except StopIteration as end:
                return end.value
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
                came = None
            else:
                came = await asyncio.to_thread(_attempt, self._setup.transport, step)

    def list(self, path: str, *, query: Values = {}, **options: Any) -> AsyncPagedList[Any, Any]:
        """Reads nothing yet."""

        async def read(cursor: str | None) -> Any:
            more = {} if cursor is None else {"cursor": cursor}
            return await self.call("GET", path, query={**query, **more}, **options)

        return AsyncPagedList(read)


def _attempt(transport: Transport, request: Request) -> Response | Exception:
    """A transport of the caller may raise anything; that is no response."""
    try:
        return transport(request)
    except Exception as error:
        return error


def _check_key(api_key: str) -> None:
    """What is not a key is not shown, either: it may be another secret."""
    if not isinstance(api_key, str) or api_key == "":
        raise ValueError("api_key is missing")
    if not re.fullmatch(r"[!-~]+", api_key):
        raise ValueError("api_key has a space, a line break or another character that no key has")


def _check_base_url(base_url: str) -> str:
    example = f"https://api.example.com{BASE_PATH}"
    if not isinstance(base_url, str) or base_url == "":
        raise ValueError(f"base_url is missing, for instance {example}")
    try:
        parts = urlsplit(base_url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError(f"base_url is no URL, as {example} is") from None
    if parts.username is not None or parts.password is not None:
        raise ValueError("base_url must not hold a user or a password")
    is_url = parts.scheme in ("http", "https") and parts.hostname and has_port
    if not is_url or parts.query or parts.fragment or not re.fullmatch(r"[!-~]+", base_url):
        raise ValueError(f"base_url must be an address such as {example}, without a query")
    if parts.path.strip("/") == "":
        raise ValueError(f"base_url lacks its path: it is {base_url.rstrip('/')}{BASE_PATH}")
    return base_url.rstrip("/")
