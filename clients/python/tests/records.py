"""The dataclasses of the tests."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import bobak


@dataclass
class Person:
    id: int
    name: str = bobak.column(max=40)
    age: int | None = None
    balance: Decimal = Decimal(0)

    __indexes__ = (("age", "name"),)


@dataclass
class Log:
    """A table whose key is generated if it is None."""

    id: int | None
    line: str = ""


@dataclass
class Note:
    """A table with keys that the client generates, time stamps and a version."""

    id: uuid.UUID | None
    text: str
    made: dt.datetime | None = bobak.column(created_at=True)
    changed: dt.datetime | None = bobak.column(modified_at=True)
    version: int = bobak.column(version=True)


@dataclass
class Square:
    """A key of two columns, which the program sets."""

    row: int = bobak.column(key=True)
    letter: str = bobak.column(key=True)
    taken_by: str | None = None


@dataclass
class Kinds:
    """A column of every type."""

    id: int
    yes: bool
    small: int = bobak.column(type="u8")
    real: float = 0.0
    raw: bytes = b""
    key: uuid.UUID = uuid.UUID(int=0)
    money: Decimal = Decimal(0)
    day: dt.date = dt.date(1970, 1, 1)
    clock: dt.time = dt.time()
    local: dt.datetime = dt.datetime(1970, 1, 1)
    instant: dt.datetime = bobak.column(
        type="timestamp", default=dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    )
    document: dict[str, Any] | None = None
    day_text: dt.date = bobak.column(store="text", default=dt.date(1970, 1, 1))
    instant_text: dt.datetime = bobak.column(
        type="timestamp", store="text", default=dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    )


def people(count: int) -> list[Person]:
    return [Person(0, f"P {n}", n % 90 or None, Decimal(n) / 100) for n in range(count)]
