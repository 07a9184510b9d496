"""Dataclasses as tables."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal

import pytest
from records import Kinds, Note, Person, Square

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
    assert schema_of(Square).key == (0, 1) and schema_of(Square).keys_by is KeysBy.USER
    assert schema_of(Kinds).columns[10].type is Type.TIMESTAMP


@dataclass
class Plane:
    id: int


@dataclass
class FlightLog:
    code: str = bobak.column(key="given", collation="nocase", name="flight_code")
    plane: int | None = bobak.column(
        references=Plane, on_delete="set_null", unique=True, default=None
    )
    seating: int = bobak.column(type="u16", check="seating > 0", default=1, kw_only=True)


def test_options_of_columns() -> None:
    schema = schema_of(FlightLog)
    assert schema.name == "flight_log"
    code, plane, seating = schema.columns
    assert (code.name, code.collation) == ("flight_code", Collation.NO_CASE)
    assert plane.references == Reference("plane", "id", OnDelete.SET_NULL) and plane.unique
    assert (seating.type, seating.check) == (Type.U16, "seating > 0")


class Status(enum.Enum):
    OPEN = "open"
    CLOSED = "closed"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Task:
    id: int
    status: Status = Status.OPEN
    level: Level | None = None
    visit: uuid.UUID | None = bobak.column(references="visit(id)", default=None, index=True)


@dataclass
class Visit:
    id: uuid.UUID


def test_enums_are_stored_as_their_values(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Visit, Task)
        tasks = db.table(Task)
        assert [one.type for one in tasks.schema.columns[1:3]] == [Type.TEXT, Type.I64]
        assert tasks.schema.indexes == (bobak.Index("task_visit", (3,)),)
        tasks.insert(Task(0))
        tasks.insert(Task(0, Status.CLOSED, Level.HIGH))
        tasks.insert(Task(0, "open", 1))  # type: ignore[arg-type]
        expected = [
            Task(1),
            Task(2, Status.CLOSED, Level.HIGH),
            Task(3, Status.OPEN, Level.LOW),
        ]
        assert tasks.all() == expected
        assert list(db.sql("SELECT * FROM task ORDER BY id", into=Task)) == expected
        assert db.sql("SELECT status, level FROM task WHERE id = 2") == [("closed", 2)]
        assert tasks.where(bobak.col.status == Status.CLOSED).count() == 1
        assert tasks.where(bobak.col.level.is_in([Level.LOW, 2])).count() == 2
        assert db.sql("SELECT id FROM task WHERE status = ?", (Status.CLOSED,)) == [(2,)]
        assert db.sql("SELECT id FROM task WHERE level = ?", (Level.LOW,)) == [(3,)]
        assert tasks.set(1, status=Status.CLOSED) and tasks.require(1).status is Status.CLOSED
        rows = db.table("task")
        rows.update({"id": 1, "status": Status.OPEN})
        assert rows.require(1)["status"] == "open"
        for wrong in ("gone", 7, Level.LOW):
            with pytest.raises(
                bobak.Error, match="is not a Status: its values are 'open'"
            ) as caught:
                tasks.insert(Task(0, wrong))  # type: ignore[arg-type]
            assert (caught.value.kind, caught.value.column) == (ErrorKind.MISMATCH, "status")
        db.execute("UPDATE task SET status = 'gone' WHERE id = 1")
        with pytest.raises(bobak.Error, match="'gone' is not a Status") as caught:
            tasks.get(1)
        assert (caught.value.kind, caught.value.column) == (ErrorKind.MISMATCH, "status")


class Mixed(enum.Enum):
    TEXT = "a"
    NUMBER = 1


def test_references() -> None:
    plane = schema_of(FlightLog).columns[1]
    assert plane.references == Reference("plane", "id", OnDelete.SET_NULL)
    by_text = bobak.column(references="plane(id)", on_delete="cascade", default=None)
    Other = make_dataclass("Other", [("id", int), ("plane", int | None, by_text)])
    assert schema_of(Other).columns[1].references == Reference("plane", "id", OnDelete.CASCADE)
    right = r"write references=Airline, which is a dataclass, or references='airline\(code\)'"
    for wrong in (
        "plane",
        "plane.id",
        "plane(",
        "(id)",
        ("plane", "id"),
        int,
        7,
        Reference("a", "b"),
    ):
        with pytest.raises(bobak.Error, match=right) as caught:
            bobak.column(references=wrong)  # type: ignore[arg-type]
        assert caught.value.kind is ErrorKind.SCHEMA
    for options in (
        {"on_delete": "cascade"},
        {"references": "plane(id)", "on_delete": "nothing"},
        {"references": "plane(id)", "on_delete": 7},
        {"collation": "german"},
        {"store": "integer"},
        {"key": "generated"},
        {"max": "9"},
        {"max": 0},
        {"check": 7},
        {"name": 7},
        {"created": True},
    ):
        with pytest.raises(bobak.Error) as caught:
            bobak.column(**options)  # type: ignore[arg-type]
        assert caught.value.kind is ErrorKind.SCHEMA
    never = bobak.column(references="plane(id)", on_delete="set_null", default=0)
    with pytest.raises(bobak.Error, match="on_delete='set_null' needs that"):
        schema_of(make_dataclass("Never", [("id", int), ("plane", int, never)]))
    two = bobak.column(references=Square, default=0)
    with pytest.raises(bobak.Error, match="a key of several columns"):
        schema_of(make_dataclass("Two", [("id", int), ("square", int, two)]))
    with pytest.raises(bobak.Error, match="must be all str or all int"):
        schema_of(make_dataclass("WithMixed", [("id", int), ("mixed", Mixed)]))


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


def test_classes_that_are_not_tables() -> None:
    for cls in (NoKey, Strange, Hidden, int, "person"):
        with pytest.raises(bobak.Error) as caught:
            schema_of(cls)
        assert caught.value.kind is ErrorKind.SCHEMA
    with pytest.raises(bobak.Error):
        bobak.column(type="i65")


def test_a_class_must_match_the_existing_table(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Person, Plane, FlightLog)
        log = db.table(FlightLog)
        log.insert(FlightLog("LH 1", seating=9))
        assert log.get("lh 1") == FlightLog("LH 1", None, seating=9)

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
