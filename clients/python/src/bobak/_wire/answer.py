"""Responses: each function reads the body of a frame."""

from __future__ import annotations

from typing import NamedTuple

from .._errors import Error, ErrorKind, Violation
from .code import Garbled, Reader
from .schema import TableSchema, Type, read_type

_KINDS = tuple(ErrorKind)

#: The kinds of outcomes, by their numbers.
INTEGER_KEYS, INSERTED, KEY, CHANGED, IGNORED, FAILED, UPDATED_INTEGER, UPDATED_KEY = range(8)


class Welcome(NamedTuple):
    """The response to an authenticated client."""

    version: int
    frame: int
    row: int
    requests: int
    handles: int
    window: int
    capabilities: int
    engine: str
    server: str


class Group(NamedTuple):
    """The outcome of consecutive rows: ``value`` is the first key, the count, or the error."""

    tag: int
    rows: int
    value: int | bytes | Error | None


class ResultColumn(NamedTuple):
    """A column of a result; its type is ``ANY`` if the server does not know it."""

    name: str
    type: Type


def welcome(body: bytes) -> Welcome:
    reader = Reader(body)
    version = reader.u16()
    frame, row, requests, handles, window, capabilities = (reader.u32() for _ in range(6))
    engine, server = reader.text(), reader.text()
    result = Welcome(version, frame, row, requests, handles, window, capabilities, engine, server)
    reader.finish()
    return result


def error(body: bytes) -> Error:
    reader = Reader(body)
    result = _read_error(reader)
    reader.finish()
    return result


def _read_error(reader: Reader) -> Error:
    number = reader.u8()
    # A kind that is newer than this client is an error of the engine.
    kind = _KINDS[number - 1] if 1 <= number <= len(_KINDS) else ErrorKind.ENGINE
    message = reader.text()
    table, column = reader.option(reader.text), reader.option(reader.text)
    row, code = reader.option(reader.u64), reader.option(reader.u32)
    if code is not None and code >= 1 << 31:
        code -= 1 << 32
    detail = reader.option(reader.text)
    result = Error(kind, message, table=table, column=column, row=row, code=code, detail=detail)
    if kind is ErrorKind.INVALID:
        count = reader.u16()
        pairs = ((reader.option(reader.text), reader.text()) for _ in range(count))
        result.violations = tuple(Violation(column, message) for column, message in pairs)
    return result


def count(body: bytes) -> int:
    reader = Reader(body)
    result = reader.u64()
    reader.finish()
    return result


def outcomes(body: bytes) -> list[Group]:
    reader = Reader(body)
    groups = []
    while reader.at < len(body):
        tag, rows = reader.u8(), reader.u32()
        value: int | bytes | Error | None = None
        if rows == 0 or (rows > 1 and (tag == KEY or tag >= FAILED)):
            raise Garbled(f"{rows} rows of one outcome")
        if tag in (INTEGER_KEYS, UPDATED_INTEGER):
            value = reader.i64()
        elif tag in (KEY, UPDATED_KEY):
            value = reader.raw(16)
        elif tag == CHANGED:
            value = reader.u64()
        elif tag == FAILED:
            value = _read_error(reader)
        elif tag not in (INSERTED, IGNORED):
            raise Garbled(f"{tag} is not an outcome")
        groups.append(Group(tag, rows, value))
    return groups


def columns(body: bytes) -> tuple[int, list[ResultColumn]]:
    """The number of the open query, and its columns."""
    reader = Reader(body)
    cursor = reader.u64()
    found = []
    for _ in range(reader.u16()):
        name = reader.text()
        try:
            found.append(ResultColumn(name, read_type(reader)[0]))
        except ValueError as error:
            raise Garbled(f"a column of a result: {error}") from error
    reader.finish()
    return cursor, found


def schemas(body: bytes) -> list[TableSchema]:
    reader = Reader(body)
    found = [TableSchema.parse(reader.bytes()) for _ in range(reader.u32())]
    reader.finish()
    return found
