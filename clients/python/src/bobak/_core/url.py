"""URLs and their settings."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from .._errors import Error, ErrorKind
from .._wire import request

VERSION = "0.1.0"
PORT = 4715


@dataclass(frozen=True)
class Tcp:
    host: str
    port: int
    tls: bool = False


@dataclass(frozen=True)
class Unix:
    path: str


@dataclass(frozen=True)
class Program:
    words: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """A server's transport and address, with settings of connections. Times are in seconds."""

    transport: Tcp | Unix | Program
    database: str = ""
    token: str | None = field(default=None, repr=False)
    user: tuple[str, str] | None = field(default=None, repr=False)
    timeout: float | None = 60.0
    connect_timeout: float = 10.0
    connections: int = 64
    ca: Path | None = None

    def hello(self) -> bytes:
        return request.hello(self.database, f"bobak-python {VERSION}", self.token, self.user)

    def tls_context(self) -> ssl.SSLContext:
        """What verifies the server's certificate.

        Raises :class:`Error` of the kind ``CONFIG`` for a file without certificates.
        """
        try:
            return ssl.create_default_context(cafile=self.ca)
        except OSError as error:
            message = f"ca: there are no certificates in {self.ca}: {error}"
            raise _config(message) from error

    @property
    def is_shared(self) -> bool:
        """Whether all users share one connection."""
        return isinstance(self.transport, Program)

    @property
    def place(self) -> str:
        """The address as messages show it."""
        if isinstance(self.transport, Tcp):
            return f"{self.transport.host}:{self.transport.port}"
        return self.transport.path if isinstance(self.transport, Unix) else self.transport.words[0]


def parse(url: str) -> Target:
    """Reads a URL. Messages never show what follows the question mark.

    Raises :class:`Error` of the kind ``CONFIG``.
    """
    place, _, query = url.partition("?")
    scheme, colon, rest = place.partition(":")
    settings = _settings(query)
    if scheme == "bobak" and colon:
        return _tcp(rest, settings)
    if scheme == "bobak+unix" and colon:
        if not rest:
            raise _config("the URL has no socket; write bobak+unix:/PATH/TO/SOCKET")
        return _target(Unix(unquote(rest)), settings.pop("db", ""), settings)
    if scheme == "bobak+stdio" and colon:
        words = tuple(_word(word) for word in rest.split())
        if not words:
            raise _config("the URL has no program; write bobak+stdio:bobak serve --stdio app.db")
        return _target(Program(words), settings.pop("db", ""), settings)
    raise _config(
        f"'{scheme}' is not a transport; the URLs are: bobak://HOST:PORT/DATABASE, "
        "bobak+unix:PATH, bobak+stdio:PROGRAM ARGUMENTS"
    )


def _word(word: str) -> str:
    # Without a shell a quoted word would name another file.
    if word.startswith(('"', "'")):
        raise _config(f"the word {word} begins with a quote; write a space as %20, without quotes")
    return unquote(word)


def _tcp(rest: str, settings: dict[str, str]) -> Target:
    host, _, database = unquote(rest).removeprefix("//").partition("/")
    # Messages show the host, so it must not contain a password.
    if "@" in rest or "@" in host:
        cure = "write bobak://HOST:PORT/DATABASE?user=…&password=…"
        raise _config(f"the user and the password are settings; {cure}")
    name, colon, port = host.rpartition(":")
    number = PORT
    if colon and port.isascii() and port.isdigit() and int(port) < 1 << 16:
        host, number = name, int(port)
    elif host.count(":") == 1:
        raise _config("the port is no number up to 65535")
    if not host:
        raise _config("the URL has no host; write bobak://HOST:PORT/DATABASE")
    tls = settings.pop("tls", "off")
    if tls not in ("on", "off"):
        raise _config(f"tls is one of on, off, not '{tls}'")
    transport = Tcp(host.removeprefix("[").removesuffix("]"), number, tls == "on")
    return _target(transport, database, settings)


def _target(transport: Tcp | Unix | Program, database: str, settings: dict[str, str]) -> Target:
    user, password = settings.pop("user", None), settings.pop("password", None)
    if (user is None) != (password is None):
        raise _config("user and password are required together")
    timeout = _number(settings, "timeout", 60_000) / 1000
    ca = settings.pop("ca", None)
    target = Target(
        transport=transport,
        database=database,
        token=settings.pop("token", None),
        user=(user, password) if user is not None and password is not None else None,
        timeout=timeout or None,
        connect_timeout=_number(settings, "connect_timeout", 10_000) / 1000,
        connections=max(1, _number(settings, "connections", 64)),
        ca=Path(ca) if ca else None,
    )
    if settings:
        known = "token, user, password, timeout, connect_timeout, connections, ca"
        raise _config(
            f"unknown setting '{next(iter(settings))}'; the settings are: {known}, db, tls"
        )
    return target


def _settings(query: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        name, equals, value = part.partition("=")
        if not equals or name in settings:
            # A password may have a question mark.
            shown = f"'{name}'" if name.replace("_", "").isalnum() else "a setting"
            raise _config(f"{shown} has no value, or occurs twice")
        settings[name] = unquote(value)
    return settings


def _number(settings: dict[str, str], name: str, default: int) -> int:
    text = settings.pop(name, str(default))
    if not (text.isascii() and text.isdigit()):
        raise _config(f"{name} is a number, not '{text}'")
    return int(text)


def _config(message: str) -> Error:
    return Error(ErrorKind.CONFIG, message)
