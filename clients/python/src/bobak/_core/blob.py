"""One value of bytes, read and written in parts, as calls."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from .._errors import Error, ErrorKind
from .._wire import answer, request
from .._wire import row as rows
from .._wire.frame import Kind
from .._wire.schema import Type
from .calls import Call, checked
from .link import Link, Steps
from .table_plan import Plan

#: How many bytes are read, and written, at once.
PART = 1 << 20
WRITTEN = 256 << 10
#: The capability of servers that read and write parts of values.
_VALUE_PARTS = 1 << 23


class Readable(Protocol):
    """What a value is read from: a file, for example."""

    def read(self, size: int, /) -> bytes: ...


class Part(NamedTuple):
    """A part of a value, and what was said about the value."""

    length: int | None
    version: int | None
    data: bytes


class Address(NamedTuple):
    """Where a value is."""

    plan: Plan
    key: list[Any]
    place: int

    @classmethod
    def of(cls, plan: Plan, key: Any, column: str) -> Address:
        place = plan.place(column)
        found = plan.schema.columns[place]
        if found.type is not Type.BYTES:
            message = f"only bytes are read and written in parts, not {found.type.name.lower()}"
            raise Error(ErrorKind.UNSUPPORTED, message, table=plan.schema.name, column=column)
        return cls(plan, plan.key_of(key), place)


def read_part(address: Address, offset: int, limit: int) -> Call[Part | None]:
    """A part of a value; None if there is no such row."""

    def steps(link: Link) -> Steps[Part | None]:
        checked(link, _VALUE_PARTS, "values in parts")
        table = link.table(address.plan.schema)
        body = request.read_part(table, address.place, address.key, offset, limit)
        found = yield from link.receive(link.put(Kind.READ_PART, body), Kind.ROWS)
        decoded = link.read(rows.decode, found)
        if not decoded:
            return None
        length, data, version = decoded[0]
        return Part(length, version, data or b"")  # type: ignore[arg-type]

    return Call(steps, writes=False)


class ValueWriter:
    """Sends a value. It keeps the last part until ``finish``, so that a value that is given up is
    too short, and the server rejects it."""

    def __init__(self, address: Address, length: int) -> None:
        self._address = address
        self._length = length
        self._last: bytes | None = None
        self._number: int | None = None
        self._is_over = False

    def add(self, part: bytes) -> Call[None]:
        def steps(link: Link) -> Steps[None]:
            last, self._last = self._last, part
            if last is not None:
                self._put(link, last, more=True)
            yield from ()

        return Call(steps, writes=True)

    def finish(self) -> Call[bool]:
        """Returns whether the row exists."""

        def steps(link: Link) -> Steps[bool]:
            self._put(link, self._last or b"", more=False)
            self._is_over = True
            assert self._number is not None
            found = yield from link.receive(self._number, Kind.COUNT)
            return link.read(answer.count, found) > 0

        return Call(steps, writes=True)

    def abort(self) -> Call[None]:
        """Leaves the value as it was."""

        def steps(link: Link) -> Steps[None]:
            if self._number is None or self._is_over:
                return
            self._is_over = True
            link.end_message()
            with suppress(Error):
                yield from link.receive(self._number, Kind.COUNT)

        return Call(steps, writes=True)

    def _put(self, link: Link, part: bytes, *, more: bool) -> None:
        checked(link, _VALUE_PARTS, "values in parts")
        plan, key, place = self._address
        head = request.write_value(link.table(plan.schema), place, key, self._length)
        if self._number is None:
            ending = head if more else None
            self._number = link.put(Kind.WRITE_VALUE, head + part, more=more, ending=ending)
        else:
            link.put_part(self._number, head + part, more=more)


def length_of(source: Any, length: int | None) -> int:
    """The number of bytes of a source, if it is not given: those up to its end."""
    if length is not None:
        return length
    begin: int = source.tell()
    end: int = source.seek(0, io.SEEK_END)
    source.seek(begin)
    return end - begin


def changed(address: Address) -> Error:
    """The error for a value that changed while it was read."""
    message = "the row was changed while its value was read: open the value again"
    return address.plan.error(ErrorKind.CONFLICT, message)
