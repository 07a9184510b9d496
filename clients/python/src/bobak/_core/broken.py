"""Errors of broken connections."""

from __future__ import annotations

import enum

from .._errors import Error, ErrorKind


class Effect(enum.Enum):
    """What a broken connection means for the call that used it."""

    #: Nothing: the call may be repeated.
    NOTHING = ""
    #: The transaction is undone.
    TRANSACTION = "; the transaction was rolled back: run it again from its start"
    #: The call may have been committed.
    UNKNOWN = "; the write happened completely or not at all"


class Broken(Exception):
    """The connection cannot be used any more. ``closed`` is the server's reason, if it sent one."""

    def __init__(
        self,
        message: str,
        *,
        timeout: bool = False,
        garbled: bool = False,
        closed: Error | None = None,
    ) -> None:
        super().__init__(message)
        self.timeout = timeout
        self.garbled = garbled
        self.closed = closed

    def into_error(self, effect: Effect) -> Error:
        """The error for the user."""
        if self.closed is not None and effect is Effect.NOTHING:
            return self.closed
        kind = ErrorKind.TIMEOUT if self.timeout else ErrorKind.UNREACHABLE
        if effect is Effect.UNKNOWN:
            kind = ErrorKind.UNKNOWN
        error = Error(kind, f"{self}{effect.value}")
        error.__cause__ = self.__cause__
        return error


def timed_out() -> Broken:
    return Broken("the server did not answer in time", timeout=True)


def ended(why: str = "") -> Broken:
    return Broken(f"the server closed the connection{': ' if why else ''}{why}")


#: The reasons that versions of OpenSSL report if the response is not TLS.
_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})


def unreachable(place: str, error: OSError) -> Broken:
    message = f"could not reach {place}: {error}"
    if getattr(error, "reason", None) not in _NOT_TLS:
        return Broken(message)
    return wrong_protocol(
        f"{place} does not speak TLS: remove tls=on, or start the server with a certificate"
    )


def wrong_protocol(message: str) -> Broken:
    """The server speaks another protocol than the URL says: retrying does not help."""
    return Broken(message, closed=Error(ErrorKind.CONFIG, message))


def lost(effect: Effect) -> Error:
    """The error of a call on a connection that broke in an earlier one."""
    done = effect.value if effect is Effect.TRANSACTION else ""
    return Error(ErrorKind.UNREACHABLE, f"the connection to the server broke{done}")


def misuse(message: str) -> Error:
    return Error(ErrorKind.MISUSE, message)


def busy(user: str) -> Error:
    """A call whose user has all connections."""
    return Error(
        ErrorKind.BUSY,
        f"this {user} has all connections, in a transaction, a batch or an iterator: it would wait "
        "for itself; in a transaction use its own tables and SQL",
    )
