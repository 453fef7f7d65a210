"""What a call of the API can raise. A class for each code is in `errors`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class TeamCustomerError(Exception):
    """Every error of this package but those of a wrong call, which are ValueError or TypeError."""


class ApiError(TeamCustomerError):
    """The API refused the call. Its class says why, and so does `code`, which never changes.

    A code that this version does not know is raised as this class: treat it by its `status`.
    """

    def __init__(self, problem: Mapping[str, Any]) -> None:
        # The arguments make the error again when it is sent to another process.
        super().__init__(problem)
        self.problem: Mapping[str, Any] = problem
        """The whole body, as in RFC 9457."""
        self.status: int = problem.get("status", 0)
        """The HTTP status."""
        self.code: str = problem["code"]
        self.request_id: str = problem.get("request_id", "")
        """Name it when you contact support."""
        self.errors: list[dict[str, str]] = problem.get("errors", [])
        """What is wrong with the input: `path`, `message` and `code` of each fault."""

    def __str__(self) -> str:
        faults = "; ".join(f"{one.get('path')}: {one.get('message')}" for one in self.errors)
        about = self.problem.get("detail") or self.problem.get("title") or ""
        # `detail` repeats the fault if there is only one.
        text = faults if faults else about
        field = self.problem.get("field")
        if field is not None and not faults:
            text = f"{field}: {text}"
        more = " and more" if self.problem.get("more_errors") else ""
        return f"{self.status} {self.code}: {text}{more} (request {self.request_id})"


class ApiConnectionError(TeamCustomerError):
    """There was no response that the client understands, so it is not known whether the call acted.

    No connection, a timeout, or something between that is not the API. `__cause__` says more.
    """
