"""Requests: each function returns the body of a frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from . import row as rows
from .code import U32, Stored, Writer
from .condition import LOCKS, METRICS, Assign, Placed, Select, put_assign, put_condition
from .schema import TableSchema, Type

VERBS = (
    "insert",
    "insert_or_ignore",
    "insert_or_replace",
    "upsert",
    "update",
    "delete",
    # Its columns are those of a unique index, then those that it sets.
    "upsert_on",
)
STEPS = ("begin", "commit", "rollback", "savepoint", "release", "roll_back_to")
VERSION = 1

#: The body of a source: a query over a table, or SQL.
Source = bytes


def hello(
    database: str,
    client: str,
    token: str | None = None,
    user: tuple[str, str] | None = None,
    versions: tuple[int, int] = (VERSION, VERSION),
) -> bytes:
    writer = Writer()
    writer.out += b"BOBK"
    writer.u16(versions[0])
    writer.u16(versions[1])
    writer.text(database)
    writer.text(client)
    if token is not None:
        writer.u8(1)
        writer.text(token)
    elif user is not None:
        writer.u8(2)
        writer.text(user[0])
        writer.text(user[1])
    else:
        writer.u8(0)
    return bytes(writer.out)


def define(number: int, table: TableSchema) -> bytes:
    return U32.pack(number) + table.describe()


def prepare(number: int, sql: str) -> bytes:
    writer = Writer()
    writer.u32(number)
    writer.text(sql)
    return bytes(writer.out)


def forget(table: bool, number: int) -> bytes:
    return bytes([table]) + U32.pack(number)


def control(step: str, name: str | None = None) -> bytes:
    writer = Writer()
    writer.u8(STEPS.index(step))
    if name is not None:
        writer.text(name)
    return bytes(writer.out)


def columns(places: Iterable[int]) -> bytes:
    """The columns that an update or upsert sets."""
    bits = 0
    for place in places:
        bits |= 1 << place
    words = (bits.bit_length() + 63) // 64
    return bytes([words]) + bits.to_bytes(words * 8, "little")


def run_head(table: int, verb: str, sets: bytes) -> bytes:
    """What precedes the rows of a write, or of a run of a batch."""
    return U32.pack(table) + bytes([VERBS.index(verb)]) + sets


def change(table: int, condition: Placed | None, assign: Sequence[Assign] | None) -> bytes:
    writer = Writer()
    writer.u32(table)
    writer.bool(condition is not None)
    if condition is not None:
        put_condition(writer, condition)
    writer.bool(assign is not None)
    if assign is not None:
        writer.u16(len(assign))
        for one in assign:
            put_assign(writer, one)
    return bytes(writer.out)


def batch(stops: bool, runs: Iterable[tuple[bytes, bytes | bytearray]]) -> bytes:
    """A part of a batch: each run is its head and its rows."""
    writer = Writer()
    writer.u8(0 if stops else 1)
    for run, framed in runs:
        writer.out += run
        writer.bytes(framed)
    return bytes(writer.out)


def get(table: int, key: Sequence[Stored]) -> bytes:
    return U32.pack(table) + rows.encode(key)


def read_part(table: int, place: int, key: Sequence[Stored], offset: int, limit: int) -> bytes:
    writer = _value(table, place, key, offset)
    writer.u32(min(limit, 0xFFFF_FFFF))
    return bytes(writer.out)


def write_value(table: int, place: int, key: Sequence[Stored], length: int) -> bytes:
    """What precedes the bytes of a value, or of a part of it."""
    return bytes(_value(table, place, key, length).out)


def _value(table: int, place: int, key: Sequence[Stored], number: int) -> Writer:
    writer = Writer()
    writer.u32(table)
    writer.u16(place)
    writer.out += rows.encode(key)
    writer.u64(number)
    return writer


def explain(source: Source) -> bytes:
    return source


def select(table: int, query: Select) -> Source:
    writer = Writer()
    kind = 4 if query.search is not None else 0 if query.lock is None else 3
    writer.u8(kind if query.nearest is None else 5)
    writer.u32(table)
    query.put(writer)
    if query.nearest is not None:
        place, metric, numbers = query.nearest
        writer.u16(place)
        writer.u8(METRICS.index(metric))
        writer.u16(len(numbers) // 4)
        writer.out += numbers
        return bytes(writer.out)
    if query.search is not None:
        text, ranked = query.search
        writer.text(text)
        writer.bool(ranked)
        writer.bool(query.lock is not None)
    if isinstance(query.lock, int):
        writer.u8(3)
        writer.u32(query.lock)
    elif query.lock is not None:
        writer.u8(LOCKS.index(query.lock))
    return bytes(writer.out)


class Parameter(NamedTuple):
    """A parameter of an SQL text: a stored value, and its type."""

    value: Stored
    type: Type


def sql(text: str, parameters: Sequence[Parameter]) -> Source:
    writer = Writer()
    writer.u8(1)
    writer.text(text)
    writer.out += _parameters(parameters)
    return bytes(writer.out)


def statement(number: int, parameters: Sequence[Parameter]) -> Source:
    return b"\x02" + U32.pack(number) + _parameters(parameters)


def _parameters(parameters: Sequence[Parameter]) -> bytes:
    values = rows.encode([parameter.value for parameter in parameters])
    return values + bytes(parameter.type for parameter in parameters)


def query(credit: int, names: bool, source: Source, *, blocks: bool = False) -> bytes:
    return U32.pack(credit) + bytes([names + 2 * blocks]) + source


SCHEMA_CHANGES = ("create_table", "add_column", "add_index", "track", "untrack")


def alter(changes: Sequence[tuple[str, TableSchema, int]]) -> bytes:
    """Each change is one of ``SCHEMA_CHANGES``, the table, and a position; for ``track`` the
    position is 1 if the log has an index over the key."""
    writer = Writer()
    writer.u16(len(changes))
    for what, table, place in changes:
        writer.u8(SCHEMA_CHANGES.index(what))
        writer.u16(place)
        writer.out += table.describe()
    return bytes(writer.out)
