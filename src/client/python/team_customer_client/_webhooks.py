"""Checks that a delivery is genuine and fresh, and returns its event."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal, Protocol, Union, cast

from ._errors import TeamCustomerError
from .models import WebhookEvent


class HasItems(Protocol):
    """A mapping, or headers of a framework."""

    def items(self) -> Iterable[tuple[Any, Any]]: ...


WebhookHeaders = Union[HasItems, Iterable[tuple[Any, Any]]]
"""Of any framework: a mapping in any spelling, or pairs of str or bytes, as ASGI has them."""

WebhookVerificationReason = Literal[
    "signature_missing",
    "signature_malformed",
    "signature_mismatch",
    "timestamp_too_old",
    "timestamp_in_future",
    "body_malformed",
]

_MESSAGES: dict[str, str] = {
    "signature_missing": "The delivery has no Svc-Signature.",
    "signature_malformed": "Svc-Signature is not t=<unix time>,v1=<hex>.",
    "signature_mismatch": "The signature does not fit the body and the secret.",
    "timestamp_too_old": "The delivery is too old.",
    "timestamp_in_future": "The delivery is from the future.",
    "body_malformed": "The body is not an event.",
}


class WebhookVerificationError(TeamCustomerError):
    """The delivery is refused. Answer it with 400."""

    def __init__(self, reason: WebhookVerificationReason) -> None:
        super().__init__(reason)
        self.reason: WebhookVerificationReason = reason

    def __str__(self) -> str:
        return _MESSAGES[self.reason]


def verify_webhook(
    raw_body: bytes | str,
    headers: WebhookHeaders,
    secret: str,
    *,
    tolerance_s: float = 300,
    now: datetime | None = None,
) -> WebhookEvent:
    """Returns the event if the delivery is genuine and fresh.

    `raw_body` is the body as received, before any parsing. `secret` is the secret of the webhook
    endpoint, including `whsec_`. The signature is compared in constant time, before the body is
    parsed. If there are several `v1`, one must match. `now` must have a time zone.

    Raises WebhookVerificationError. A wrong call (a parsed body, no secret) is a TypeError; no
    delivery can cause that.
    """
    if not isinstance(raw_body, (bytes, bytearray, memoryview, str)):
        raise TypeError("verify_webhook needs the raw body, bytes or text, before it is parsed")
    # Anybody can sign with an empty secret, for instance that of a missing setting.
    if not isinstance(secret, str) or secret == "":
        raise TypeError("verify_webhook needs the secret of the endpoint")
    if now is not None and now.utcoffset() is None:
        raise TypeError("now needs a time zone")
    body = raw_body.encode("utf-8", "replace") if isinstance(raw_body, str) else bytes(raw_body)
    moment, candidates = _read_signature(list(_signatures_of(headers)))
    signed = moment.encode("ascii") + b"." + body
    expected = hmac.new(secret.encode("utf-8", "replace"), signed, hashlib.sha256).hexdigest()
    # Every candidate is compared, so that the time does not say which one fits.
    if not any([hmac.compare_digest(one, expected) for one in candidates]):
        raise WebhookVerificationError("signature_mismatch")
    age_s = (time.time() if now is None else now.timestamp()) - int(moment)
    # NaN as a tolerance is refused.
    if not abs(age_s) <= tolerance_s:
        raise WebhookVerificationError(
            "timestamp_in_future" if age_s < 0 else "timestamp_too_old"
        )
    return _parse_event(body)


def _signatures_of(headers: WebhookHeaders) -> Iterator[str]:
    given = cast(Any, headers)
    pairs: Iterable[tuple[Any, Any]] = given.items() if hasattr(given, "items") else given
    for name, value in pairs:
        if _text(name).lower() != "svc-signature" or value is None:
            continue
        several: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
        for one in several:
            yield _text(one)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _read_signature(values: list[str]) -> tuple[str, list[str]]:
    """Returns when it was signed, and the signatures of which one must match.

    Ignores parts other than `t` and `v1`: a later scheme may add some. Refuses a second `t`,
    because it would be unclear which one was signed.
    """
    if not values:
        raise WebhookVerificationError("signature_missing")
    # Only the spaces that HTTP knows: languages differ about what else is one.
    parts = [part.strip(" \t") for value in values for part in value.split(",")]
    times = [part for part in parts if part.startswith("t=")]
    found = [re.fullmatch(r"v1=([0-9a-f]{64})", part) for part in parts]
    candidates = [match[1] for match in found if match]
    moment = re.fullmatch(r"t=([0-9]{1,15})", times[0]) if len(times) == 1 else None
    if moment is None or not candidates:
        raise WebhookVerificationError("signature_malformed")
    return moment[1], candidates


def _parse_event(body: bytes) -> WebhookEvent:
    try:
        event = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        event = None
    if (
        isinstance(event, dict)
        and isinstance(event.get("id"), str)
        and isinstance(event.get("type"), str)
        and isinstance(event.get("data"), dict)
    ):
        return cast(WebhookEvent, event)
    raise WebhookVerificationError("body_malformed")
