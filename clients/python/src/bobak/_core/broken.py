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


def ended() -> Broken:
    return Broken("the server closed the connection")


def lost() -> Error:
    return Error(
        ErrorKind.UNREACHABLE,
        "the connection broke, and the transaction with it: run it again from its beginning",
    )


def misuse(message: str) -> Error:
    return Error(ErrorKind.MISUSE, message)
