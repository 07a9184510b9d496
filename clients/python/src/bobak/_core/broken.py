"""What is lost with a connection that breaks under a call."""

from __future__ import annotations

import enum

from .._errors import Error, ErrorKind


class Effect(enum.Enum):
    """What nobody knows any more."""

    #: Nothing: the call may be made again.
    NOTHING = ""
    #: The transaction, whole.
    TRANSACTION = "; the transaction is undone: run it again from its beginning"
    #: The call may have been committed.
    UNKNOWN = "; what was to be written is there wholly or not at all"


class Broken(Exception):
    """The connection is of no use any more. ``closed`` is the server's word why, if it had one."""

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


#: What OpenSSL calls an answer that is not TLS, from version to version.
_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})


def unreachable(place: str, error: OSError) -> Broken:
    message = f"could not reach {place}: {error}"
    if getattr(error, "reason", None) not in _NOT_TLS:
        return Broken(message)
    return wrong_door(
        f"{place} does not speak TLS: leave tls=on out, or start the server with a certificate"
    )


def wrong_door(message: str) -> Broken:
    """What was reached speaks something else than the URL says: no second try helps."""
    return Broken(message, closed=Error(ErrorKind.CONFIG, message))


def lost() -> Error:
    return Error(
        ErrorKind.UNREACHABLE,
        "the connection broke, and the transaction with it: run it again from its beginning",
    )


def misuse(message: str) -> Error:
    return Error(ErrorKind.MISUSE, message)
