"""Lists: one page, or by iteration all entries of all pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Generic, TypeVar, cast

B = TypeVar("B")
T = TypeVar("T")


class Page(Generic[B, T]):
    """A page as the API returns it."""

    def __init__(self, body: B) -> None:
        fields = cast(Any, body)
        self.body: B = body
        """The whole response."""
        self.data: list[T] = fields["data"]
        """The entries of this page."""
        self.next_cursor: str | None = fields.get("next_cursor")
        """The `cursor` of the page that follows; None on the last one."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.data)}, next_cursor={self.next_cursor!r}>"


class PagedList(Page[B, T]):
    """The first page. `for` gives every entry: the pages that follow are read when needed."""

    def __init__(self, body: B, read: Callable[[str], B]) -> None:
        super().__init__(body)
        self._read = read

    def __iter__(self) -> Iterator[T]:
        page: Page[B, T] = self
        yield from page.data
        while page.next_cursor:
            page = Page(self._read(page.next_cursor))
            yield from page.data


class AsyncPagedList(Generic[B, T]):
    """`await` it for one page, or use `async for` for every entry. Until then nothing is sent."""

    def __init__(self, read: Callable[[str | None], Awaitable[B]]) -> None:
        self._read = read

    def __await__(self) -> Generator[Any, None, Page[B, T]]:
        return self._page(None).__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        page = await self._page(None)
        while True:
            for entry in page.data:
                yield entry
            if not page.next_cursor:
                return
            page = await self._page(page.next_cursor)

    async def _page(self, cursor: str | None) -> Page[B, T]:
        return Page(await self._read(cursor))
