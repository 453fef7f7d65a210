"""Client of the Team Customer API, and verification of its webhooks.

It needs nothing but Python's own library. Its guide is the README of the package.
"""

from . import errors
from ._client import AsyncClient, Client
from ._errors import ApiConnectionError, ApiError, TeamCustomerError
from ._facts import VERSION as __version__
from ._inputs import OMIT, Omitted
from ._pages import AsyncPagedList, Page, PagedList
from ._transport import HttpTransport, Request, Response, Transport
from ._webhooks import WebhookVerificationError, verify_webhook
from .errors import *  # noqa: F403 -- a class for each code

__all__ = [
    "OMIT",
    "ApiConnectionError",
    "ApiError",
    "AsyncClient",
    "AsyncPagedList",
    "Client",
    "HttpTransport",
    "Omitted",
    "Page",
    "PagedList",
    "Request",
    "Response",
    "TeamCustomerError",
    "Transport",
    "WebhookVerificationError",
    "__version__",
    "verify_webhook",
]
__all__ += errors.__all__
