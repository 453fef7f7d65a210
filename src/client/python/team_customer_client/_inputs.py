"""What becomes of the arguments of an operation."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode


class Omitted(enum.Enum):
    """The type of `OMIT`."""

    OMIT = "OMIT"

    def __repr__(self) -> str:
        return "OMIT"


OMIT: Final = Omitted.OMIT
"""Leaves a field out of a body, as not naming it does. `None` is null, which clears a field."""


def fill_path(path: str, values: Mapping[str, object]) -> str:
    """Puts the parameters into the path."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a str")
        # It would be the address of another operation: what is between resolves dots.
        if value in ("", ".", ".."):
            raise ValueError(f"{name} is missing")
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return path


def to_query(values: Mapping[str, object]) -> str:
    """Returns the query, with its question mark. `None` and `OMIT` are left out."""
    given = [
        (name, _text_of(name, value))
        for name, value in values.items()
        if value is not None and value is not OMIT
    ]
    return f"?{urlencode(given)}" if given else ""


def to_body(values: Mapping[str, object]) -> bytes:
    """Returns the JSON of the fields that are not left out."""
    given = {name: value for name, value in values.items() if value is not OMIT}
    for name, value in given.items():
        if isinstance(value, datetime):
            given[name] = _moment(name, value)
    text = json.dumps(given, default=_to_json, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii")


def check_idempotency_key(key: str) -> str:
    """A key is 1 to 100 characters that a header can have."""
    if not isinstance(key, str) or not re.fullmatch(r"[!-~]([ -~]{0,98}[!-~])?", key):
        raise ValueError("idempotency_key must have 1 to 100 characters of ASCII")
    return key


def _text_of(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _moment(name, value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def _moment(name: str, value: datetime) -> str:
    """Without an offset it would be a different moment on each machine."""
    if value.utcoffset() is None:
        raise ValueError(f"{name} needs a time zone, for instance datetime.now(timezone.utc)")
    return value.isoformat()


def _to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return _moment("a datetime", value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")
