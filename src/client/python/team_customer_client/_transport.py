"""One HTTP request over a connection that is kept for the next one."""

from __future__ import annotations

import functools
import io
import os
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

# Shorter than servers keep idle connections, so that none ends just when it is used again.
_IDLE_MAX_S = 4.0
_IDLE_MAX_COUNT = 32


@dataclass(frozen=True)
class Request:
    """What is sent. The headers hold the key, so they are not in its repr."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)
    timeout_s: float


@dataclass(frozen=True)
class Response:
    """What came. The names of its headers are in lower case, however they were given."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def __post_init__(self) -> None:
        # The class is frozen, so this is how it sets a field of its own.
        lower = {name.lower(): value for name, value in self.headers.items()}
        object.__setattr__(self, "headers", lower)


Transport = Callable[[Request], Response]
"""Sends one request and returns its response, whatever its status. It must not follow redirects."""


class HttpTransport:
    """Sends over kept connections. Any number of threads may use it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[float, tuple[str, str], HTTPConnection]] = []
        self._tls: ssl.SSLContext | None = None
        self._pid = os.getpid()

    def __call__(self, request: Request) -> Response:
        deadline = time.monotonic() + request.timeout_s
        parts = urlsplit(request.url)
        place = (parts.scheme, parts.netloc)
        connection = self._take(place) or self._open(place)
        try:
            response = _exchange(connection, request, deadline)
        except BaseException as error:
            connection.close()
            # The frames of http.client hold the headers, and error reports show their variables.
            raise error.with_traceback(None)
        self._keep(place, connection)
        return response

    def close(self) -> None:
        """Ends the idle connections."""
        self._forget_those_of_the_parent()
        with self._lock:
            idle, self._idle = self._idle, []
        for _, _, connection in idle:
            connection.close()

    def __del__(self) -> None:
        self.close()

    def _take(self, place: tuple[str, str]) -> HTTPConnection | None:
        self._forget_those_of_the_parent()
        ended: list[HTTPConnection] = []
        found: HTTPConnection | None = None
        with self._lock:
            now = time.monotonic()
            while self._idle and self._idle[0][0] < now - _IDLE_MAX_S:
                ended.append(self._idle.pop(0)[2])
            for index in reversed(range(len(self._idle))):
                if self._idle[index][1] != place:
                    continue
                found = self._idle.pop(index)[2]
                if not _has_input(found):
                    break
                ended.append(found)
                found = None
        for connection in ended:
            connection.close()
        return found

    def _keep(self, place: tuple[str, str], connection: HTTPConnection) -> None:
        # It has no socket if the server asked to close it.
        if connection.sock is None:
            return
        with self._lock:
            if len(self._idle) < _IDLE_MAX_COUNT:
                self._idle.append((time.monotonic(), place, connection))
                return
        connection.close()

    def _open(self, place: tuple[str, str]) -> HTTPConnection:
        scheme, netloc = place
        if scheme == "http":
            return HTTPConnection(netloc)
        with self._lock:
            # Reading the certificates of the machine takes a while.
            self._tls = self._tls or ssl.create_default_context()
        return HTTPSConnection(netloc, context=self._tls)

    def _forget_those_of_the_parent(self) -> None:
        """After a fork, both processes would speak on the same connections."""
        if self._pid == os.getpid():
            return
        # A thread that was not copied may hold the lock.
        self._lock = threading.Lock()
        self._pid = os.getpid()
        # This closes the copies of this process only.
        self.close()


def _exchange(connection: HTTPConnection, request: Request, deadline: float) -> Response:
    """The deadline is that of everything, however slowly the response comes."""
    parts = urlsplit(request.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    if connection.sock is None:
        # Its own way gives each address of a name the whole time.
        connection._create_connection = functools.partial(_connect, deadline)  # type: ignore
        connection.connect()
    connection.sock.settimeout(_remaining_s(deadline))
    # The type stubs know it only as a class.
    connection.response_class = functools.partial(_TimedResponse, deadline)  # type: ignore
    is_sent = True
    try:
        connection.request(request.method, target, body=request.body, headers=dict(request.headers))
    except (ConnectionError, ssl.SSLEOFError):
        # A server may answer before it has read a large body, and close the connection. Its answer
        # has arrived then, and says why. Without one, reading it fails, too. The last is what
        # TLS makes of it.
        is_sent = False
    response = connection.getresponse()
    body = response.read()
    if response.status == 101 or not is_sent:
        # What comes after the one is no HTTP, and of the other the server has read a part.
        connection.close()
    return Response(response.status, dict(response.getheaders()), body)


def _has_input(connection: HTTPConnection) -> bool:
    """Whether an idle connection was closed by the server, or holds what no request asked for."""
    sock = connection.sock
    if isinstance(sock, ssl.SSLSocket) and sock.pending() > 0:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return len(selector.select(0)) > 0


def _connect(deadline: float, address: tuple[str, int], *_options: Any) -> socket.socket:
    """Shares the time among the addresses of the name, so that one that is silent leaves some."""
    host, port = address
    left = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    while True:
        family, kind, protocol, _, place = left.pop(0)
        sock: socket.socket | None = None
        try:
            sock = socket.socket(family, kind, protocol)
            sock.settimeout(_remaining_s(deadline) / (len(left) + 1))
            sock.connect(place)
            # What is left is that of the TLS handshake.
            sock.settimeout(_remaining_s(deadline))
            return sock
        except OSError:
            if sock is not None:
                sock.close()
            if not left:
                raise


class _TimedResponse(HTTPResponse):
    def __init__(self, deadline: float, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(_TimedSocket(sock, deadline), *args, **options)  # type: ignore

    def _read_status(self) -> tuple[str, int, str]:
        """http.client reads on after a 100 only. Other interim responses are no answers, either."""
        version, status, reason = super()._read_status()  # type: ignore
        return version, 100 if 100 < status < 200 and status != 101 else status, reason


class _TimedSocket:
    """All that a response needs of a socket."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))


class _TimedReader(io.RawIOBase):
    """A socket's own timeout is that of each read, so a slow response could take for ever."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_remaining_s(self._deadline))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _remaining_s(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("the time of the attempt is over")
    return remaining
