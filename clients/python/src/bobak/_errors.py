"""The one exception type, with a kind to match on and a sentence to read."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple


class ErrorKind(str, enum.Enum):
    """The reason of an error. Match on it, and show the :class:`Error` itself to people."""

    NOT_FOUND = "NotFound"
    DUPLICATE = "Duplicate"
    CONFLICT = "Conflict"
    CONSTRAINT = "Constraint"
    TOO_LONG = "TooLong"
    OUT_OF_RANGE = "OutOfRange"
    MISMATCH = "Mismatch"
    UNSUPPORTED = "Unsupported"
    SCHEMA = "Schema"
    SYNTAX = "Syntax"
    BUSY = "Busy"
    SERIALIZATION = "Serialization"
    TIMEOUT = "Timeout"
    UNREACHABLE = "Unreachable"
    UNKNOWN = "Unknown"
    DENIED = "Denied"
    FULL = "Full"
    READ_ONLY = "ReadOnly"
    CORRUPT = "Corrupt"
    IO = "Io"
    CONFIG = "Config"
    MISUSE = "Misuse"
    INTERRUPTED = "Interrupted"
    ENGINE = "Engine"
    INVALID = "Invalid"


RETRYABLE = frozenset(
    {ErrorKind.BUSY, ErrorKind.SERIALIZATION, ErrorKind.TIMEOUT, ErrorKind.UNREACHABLE}
)


class Violation(NamedTuple):
    """One thing that is wrong with a row. The message continues the column's name."""

    column: str | None
    """``None`` if the row as a whole is wrong."""
    message: str


class Error(Exception):
    """The error that every failing call raises.

    ``row`` is the number in its batch, from 0; ``code`` the engine's own code, for SQLite its
    extended result code; ``detail`` the engine's own message; ``violations`` what is wrong with
    the row, if the kind is ``INVALID``.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        table: str | None = None,
        column: str | None = None,
        row: int | None = None,
        code: int | None = None,
        detail: str | None = None,
        violations: Sequence[Violation] = (),
    ) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message
        self.table = table
        self.column = column
        self.row = row
        self.code = code
        self.detail = detail
        self.violations = tuple(violations)

    @property
    def is_retryable(self) -> bool:
        """Whether the same call, or the transaction from its beginning, may succeed if repeated."""
        return self.kind in RETRYABLE

    def __str__(self) -> str:
        places = (("table", self.table), ("column", self.column), ("row", self.row))
        where = ", ".join(f"{what} {place}" for what, place in places if place is not None)
        return f"{self.message} ({where})" if where else self.message

    def __repr__(self) -> str:
        return f"Error({self.kind.value}: {self})"
