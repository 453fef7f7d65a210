"""When a call is repeated, and what becomes of it in the end. It sends nothing and does not wait.

* Every call may be repeated, because a POST has one Idempotency-Key in all attempts.
* Repeated are: no response, a 408, a 429, a 503, a 500 (once), the 409 of a call that is still
  running, and what a gateway answers. `Retry-After` says how long to wait; of a 503 it says the
  first wait only. Such waits grow, as those without it do.
* A DELETE whose first attempt had no known outcome, and whose next one is a 404, has worked.
* A redirect, and an address where the API has never answered, are said at once: waiting would not
  help against a wrong `base_url`.
"""

from __future__ import annotations

import json
import random
import re
import socket
import ssl
import time
from collections.abc import Generator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Union

from ._errors import ApiConnectionError, ApiError
from ._facts import BASE_PATH
from ._transport import Request, Response
from .errors import error_of

_FIRST_WAIT_S = 0.5
_WAIT_MAX_S = 8.0
# Up to this the waits after a 503 double. Four of them from 2 s on outlast a failover of 25 s.
_UNAVAILABLE_MAX_S = 16.0


@dataclass(frozen=True)
class Wait:
    """A step of a call: to wait."""

    seconds: float


Step = Union[Request, Wait]
Steps = Generator[Step, Union[Response, Exception, None], Any]


@dataclass
class RetryRules:
    """How often and how long the calls of a client are repeated."""

    max_retries: int
    retry_budget_s: float
    has_answered: bool = False
    """Whether the API has ever answered, so that `base_url` is known to be right."""


def call_steps(request: Request, rules: RetryRules) -> Steps:
    """Yields what to do next, takes what came of it, and returns the body of the success."""
    is_uncertain = False
    unavailable = 0
    budget_s = rules.retry_budget_s
    for attempt in range(rules.max_retries + 1):
        came = yield request
        if isinstance(came, Response):
            body = _parse(came)
            if 200 <= came.status < 300 and isinstance(body, dict):
                rules.has_answered = True
                return body
            error = _error_of(request, came, body)
            retry_after_s = _retry_after_s_of(came)
            if came.status == 503 and retry_after_s is not None:
                # The API says the same with every 503, and not how long the outage will last.
                # At the end of its budget a call waits no longer than it was told, or than it may.
                most_s = max(retry_after_s, min(_UNAVAILABLE_MAX_S, budget_s))
                retry_after_s = min(retry_after_s * 2**unavailable, most_s)
                unavailable += 1
        else:
            error, retry_after_s = _no_response(request, came), None
        if isinstance(error, ApiError):
            rules.has_answered = True
            if is_uncertain and request.method == "DELETE" and error.status == 404:
                return {"ok": True}
        elif _is_wrong_address(came, rules):
            raise _with_hint(error, request) from error.__cause__
        growing_s = min(_FIRST_WAIT_S * 2**attempt, _WAIT_MAX_S)
        wait_s = growing_s / 2 if retry_after_s is None else retry_after_s
        is_last = attempt == rules.max_retries or wait_s > budget_s
        if is_last or not _is_worth_repeating(error, attempt, retry_after_s):
            raise error
        if not isinstance(error, ApiError) or error.status >= 500:
            is_uncertain = True
        # Clients that were refused together must not come back together.
        spread_s = growing_s / 2 if retry_after_s is None else growing_s / 4
        wait_s = min(wait_s + random.random() * spread_s, budget_s)
        budget_s -= wait_s
        yield Wait(wait_s)
    raise AssertionError("the last attempt returns or raises")


def _is_worth_repeating(error: Exception, attempt: int, retry_after_s: float | None) -> bool:
    if not isinstance(error, ApiError):
        return True
    if error.status == 500:
        return attempt == 0
    if error.status == 409:
        return retry_after_s is not None
    return error.status in (408, 429, 503)


def _error_of(request: Request, came: Response, body: Any) -> ApiError | ApiConnectionError:
    if _is_problem(came, body):
        return error_of(body)
    return ApiConnectionError(
        f"The response to {request.method} {_address(request)} is none of the API; "
        f"its status is {came.status}."
    )


def _is_problem(came: Response, body: Any) -> bool:
    """A gateway before the API may respond with a page, or with JSON that has a `code`, too."""
    if came.status < 400 or not isinstance(body, dict):
        return False
    errors = body.get("errors", [])
    return (
        body.get("status") == came.status
        and isinstance(body.get("code"), str)
        and isinstance(body.get("request_id"), str)
        and isinstance(errors, list)
        and all(isinstance(one, dict) for one in errors)
    )


def _no_response(request: Request, came: Exception | None) -> ApiConnectionError:
    error = ApiConnectionError(f"No response of {request.method} {_address(request)}: {came!r}")
    error.__cause__ = came
    return error


def _is_wrong_address(came: Response | Exception | None, rules: RetryRules) -> bool:
    if isinstance(came, ssl.SSLCertVerificationError):
        return True
    if isinstance(came, Response):
        is_temporary = came.status >= 500 or came.status in (408, 429)
        return 300 <= came.status < 400 or not (rules.has_answered or is_temporary)
    # Not if the name servers gave no answer: that passes, as on a machine that has just started.
    is_unknown = isinstance(came, socket.gaierror) and came.errno != socket.EAI_AGAIN
    return is_unknown and not rules.has_answered


def _with_hint(error: Exception, request: Request) -> ApiConnectionError:
    return ApiConnectionError(
        f"{error} Is base_url right? It is the address of the service with {BASE_PATH} at its end."
    )


def _address(request: Request) -> str:
    """Without the query: a filter may be about a person."""
    return request.url.partition("?")[0]


def _parse(came: Response) -> Any:
    try:
        return json.loads(came.body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _retry_after_s_of(came: Response) -> float | None:
    """It is a number of seconds, or an HTTP date. None: there is none, or it is neither."""
    text = came.headers.get("retry-after", "")
    if re.fullmatch(r"[0-9]+", text):
        return float(text)
    if not text.endswith(" GMT"):
        return None
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
