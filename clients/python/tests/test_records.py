"""Dataclasses as tables."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from records import Kinds, Note, Person, Seat

import bobak
from bobak import Collation, ErrorKind, OnDelete, Reference, Type
from bobak._core.record import schema_of
from bobak._wire.schema import KeysBy


def test_tables() -> None:
    person = schema_of(Person)
    assert (person.name, person.key, person.keys_by) == ("person", (0,), KeysBy.ENGINE)
    assert [(one.type, one.nullable) for one in person.columns] == [
        (Type.I64, False),
        (Type.TEXT, False),
        (Type.I64, True),
        (Type.CURRENCY, False),
    ]
    assert person.columns[1].max_chars == 40
    assert person.indexes == (bobak.Index("person_age_name", (2, 1)),)
    note = schema_of(Note)
    assert note.keys_by is KeysBy.CLIENT
    assert not any(one.nullable for one in note.columns)
    assert schema_of(Seat).key == (0, 1) and schema_of(Seat).keys_by is KeysBy.USER
    assert schema_of(Kinds).columns[10].type is Type.TIMESTAMP


@dataclass
class Plane:
    id: int


@dataclass
class FlightLog:
    code: str = bobak.column(key=True, collation=Collation.NO_CASE, name="flight_code")
    plane: int | None = bobak.column(
        references="plane.id", on_delete=OnDelete.SET_NULL, unique=True, default=None
    )
    seats: int = bobak.column(type="u16", check="seats > 0", default=1, kw_only=True)


def test_all_that_a_column_can_be() -> None:
    schema = schema_of(FlightLog)
    assert schema.name == "flight_log"
    code, plane, seats = schema.columns
    assert (code.name, code.collation) == ("flight_code", Collation.NO_CASE)
    assert plane.references == Reference("plane", "id", OnDelete.SET_NULL) and plane.unique
    assert (seats.type, seats.check) == (Type.U16, "seats > 0")


@dataclass
class NoKey:
    name: str


@dataclass
class Strange:
    id: int
    when: dt.timedelta


@dataclass
class Hidden:
    id: int
    name: str = field(init=False)


def test_what_is_no_table() -> None:
    for cls in (NoKey, Strange, Hidden, int, "person"):
        with pytest.raises(bobak.Error) as caught:
            schema_of(cls)
        assert caught.value.kind is ErrorKind.SCHEMA
    with pytest.raises(bobak.Error):
        bobak.column(type="i65")


def test_a_class_must_fit_the_table_that_is_there(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Person, Plane, FlightLog)
        log = db.table(FlightLog)
        log.insert(FlightLog("LH 1", seats=9))
        assert log.get("lh 1") == FlightLog("LH 1", None, seats=9)

        @dataclass
        class Other:
            id: int
            name: str
            age: float | None = None

            __table__ = "person"

        @dataclass
        class Short:
            id: int

            __table__ = "person"

        @dataclass
        class Part:
            name: str
            id: int
            balance: Decimal = Decimal(7)

            __table__ = "person"

        for cls in (Other, Short):
            with pytest.raises(bobak.Error) as caught:
                db.table(cls)
            assert caught.value.kind is ErrorKind.SCHEMA and caught.value.column
        part = db.table(Part)
        assert part.insert(Part("x", 0)) == 1
        assert part.get(1) == Part("x", 1)
        db.table(Person).set(1, age=5)
        part.update(Part("y", 1))
        assert db.table(Person).get(1) == Person(1, "y", 5, Decimal(7))
