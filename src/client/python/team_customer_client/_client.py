"""The clients. Their operations are in `_operations`."""

from __future__ import annotations

from types import TracebackType
from typing import Literal

from ._callers import AsyncCaller, Caller, Mode, Setup
from ._operations import AsyncOperations, Operations
from ._transport import Transport


class Client(Operations):
    """Calls the API with one key. Any number of threads may use it at once.

    `api_key` is `svck_live_…`, or `svck_test_…` for the sandbox; whoever has it can do all that its
    scopes allow. `base_url` is for instance `https://api.example.com/api/public/v1`. `language` is
    that of titles and labels. `timeout_s` is that of an attempt. A call is repeated `max_retries`
    times at most, and only while its waits do not exceed `retry_budget_s` together. `transport`
    replaces the HTTP client.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        language: Literal["de", "en"] = "en",
        timeout_s: float = 30.0,
        max_retries: int = 4,
        retry_budget_s: float = 60.0,
        transport: Transport | None = None,
    ) -> None:
        self._setup = Setup(
            api_key,
            base_url,
            language=language,
            timeout_s=timeout_s,
            max_retries=max_retries,
            retry_budget_s=retry_budget_s,
            transport=transport,
        )
        super().__init__(Caller(self._setup))

    @property
    def mode(self) -> Mode:
        """Whether the key opens the live team or its sandbox, by the word in the key."""
        return self._setup.mode

    def __repr__(self) -> str:
        return describe(self)

    def close(self) -> None:
        """Ends the idle connections. `with` does it, too. The client can still be used."""
        self._setup.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def describe(client: Client | AsyncClient) -> str:
    """Never with the key. Error reports describe a client that was refused its setup, too."""
    setup = getattr(client, "_setup", None)
    return f"<{type(client).__name__} of {setup.base_url if setup else 'nothing yet'}>"


class AsyncClient(AsyncOperations):
    """The same for asyncio. Each attempt takes one of the threads of `asyncio.to_thread`.

    A call that is cancelled ends at once for its caller; its attempt goes on in its thread until
    there is a response, or until `timeout_s`.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        language: Literal["de", "en"] = "en",
        timeout_s: float = 30.0,
        max_retries: int = 4,
        retry_budget_s: float = 60.0,
        transport: Transport | None = None,
    ) -> None:
        self._setup = Setup(
            api_key,
            base_url,
            language=language,
            timeout_s=timeout_s,
            max_retries=max_retries,
            retry_budget_s=retry_budget_s,
            transport=transport,
        )
        super().__init__(AsyncCaller(self._setup))

    @property
    def mode(self) -> Mode:
        """Whether the key opens the live team or its sandbox, by the word in the key."""
        return self._setup.mode

    def __repr__(self) -> str:
        return describe(self)

    async def close(self) -> None:
        """Ends the idle connections. `async with` does it, too. The client can still be used."""
        self._setup.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
