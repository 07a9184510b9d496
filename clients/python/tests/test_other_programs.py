"""SQLite files of other programs: keys in another order than the columns, and values that are not
of their column's type."""

from __future__ import annotations

import datetime as dt
import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from serving import stdio_url
from test_generated import module, schema

import bobak
from bobak import ErrorKind, col


def made_by_sqlite(folder: Path, script: str) -> str:
    """The URL of a file that SQLite has made."""
    made = sqlite3.connect(folder / "other.db")
    made.executescript(script)
    made.close()
    return stdio_url(folder, "other.db")


@dataclass
class Crossing:
    a: int = bobak.column(key=True)
    b: int = bobak.column(key=True)
    c: int | None = None

    __table__ = "s"


@dataclass
class CrossingInOrder:
    b: int = bobak.column(key=True)
    a: int = bobak.column(key=True)
    c: int | None = None

    __table__ = "s"


CROSSINGS = """create table s (a int not null, b int not null, c int, primary key (b, a));
    insert into s values (1, 2, 12), (2, 1, 21)"""


def test_a_key_is_in_the_order_of_the_primary_key(tmp_path: Path) -> None:
    url = made_by_sqlite(tmp_path, CROSSINGS)
    (tmp_path / "crossings.py").write_text(schema(tmp_path, "other.db", "--python"))
    made = module(tmp_path / "crossings.py").S
    with bobak.connect(url) as db:
        with pytest.raises(bobak.Error, match=r"the key of the table is \(b, a\)") as raised:
            db.table(Crossing)
        assert raised.value.kind is ErrorKind.SCHEMA
        assert db.table("s").get((2, 1)) == {"a": 1, "b": 2, "c": 12}
        assert db.table(CrossingInOrder).get((2, 1)) == CrossingInOrder(2, 1, 12)
        crossings = db.table(made)
        assert crossings.get((2, 1)) == made(b=2, a=1, c=12)
        assert crossings.delete((1, 2))
        assert [crossing.c for crossing in crossings] == [12]


@dataclass
class Done:
    id: int
    done: bool | None

    __table__ = "t"


def test_a_truth_value_is_0_or_1(tmp_path: Path) -> None:
    url = made_by_sqlite(
        tmp_path,
        """create table t (id integer primary key, done boolean);
        insert into t values (1, 1), (2, 0), (3, null), (4, 'false'), (5, 5), (6, 1.5), (7, '')""",
    )
    values = [True, False, None, "false", 5, 1.5, ""]
    with bobak.connect(url) as db:
        rows = db.table("t")
        # In Python, True equals 1.
        assert repr([row["done"] for row in rows]) == repr(values)
        assert repr([done for (done,) in rows.where().select("done").all()]) == repr(values)
        assert repr([done for (done,) in db.sql("select done from t where id = 5")]) == "[5]"
        assert len(rows.where().group_by("done").select("done", bobak.count()).all()) == 7
        done = db.table(Done)
        assert done.where(col.id < 4).all() == [Done(1, True), Done(2, False), Done(3, None)]
        for key, shown in ((4, "'false'"), (5, "5"), (6, "1.5")):
            with pytest.raises(bobak.Error) as raised:
                done.where(col.id >= key).all()
            error = raised.value
            assert error.kind is ErrorKind.MISMATCH
            assert (error.table, error.column) == ("t", "done")
            assert shown in error.message
            assert f"(in the row with id {key})" in error.message


@dataclass
class Mixed:
    id: int
    i: int | None = None
    s: int | None = bobak.column(type="i8", default=None)
    f: float | None = None
    t: str | None = None
    b: bytes | None = None
    d: dt.date | None = None
    c: Decimal | None = None
    u: UUID | None = None
    j: Any = bobak.column(type="json", default=None)

    __table__ = "m"


WRONG: dict[str, tuple[str, Any]] = {
    "i": ("'abc'", "abc"),
    "s": ("300", 300),
    "f": ("'abc'", "abc"),
    "t": ("x'01'", b"\1"),
    "b": ("'abc'", "abc"),
    "d": ("1.5", 1.5),
    "c": ("1.5", 1.5),
    "u": ("'abc'", "abc"),
    "j": ("x'01'", b"\1"),
}


def test_a_value_of_another_type_is_an_error_in_a_record(tmp_path: Path) -> None:
    url = made_by_sqlite(
        tmp_path,
        """create table m (id integer primary key, i integer, s tinyint, f real, t text, b blob,
        d date_days, c currency_e4, u uuid, j json_text);
        insert into m (id, i, s) values (1, 7, -128)""",
    )
    right = Mixed(1, 7, -128)
    for name, (literal, value) in WRONG.items():
        made_by_sqlite(tmp_path, f"replace into m (id, {name}) values (2, {literal})")
        with bobak.connect(url) as db:
            table = db.table(Mixed)
            assert table.require(1) == right
            for read in (table.all, lambda table=table: table.get(2)):
                with pytest.raises(bobak.Error) as raised:
                    read()
                assert raised.value.kind is ErrorKind(
                    "OutOfRange" if name == "s" else "Mismatch"
                ), name
                assert "(in the row with id 2)" in raised.value.message, name
                assert raised.value.column == name
            row = db.table("m").get(2)
            assert row is not None
            assert row[name] == value, name
            assert db.table("m").where().select(name).all()[1] == (value,)


def test_a_uuid_and_a_date_may_be_texts(tmp_path: Path) -> None:
    text = "00112233-4455-6677-8899-aabbccddeeff"
    url = made_by_sqlite(
        tmp_path,
        f"""create table m (id integer primary key, d date_days, u uuid);
        insert into m values (1, '2024-01-31', '{text}')""",
    )
    expected = {"id": 1, "d": dt.date(2024, 1, 31), "u": UUID(text)}
    with bobak.connect(url) as db:
        assert db.table("m").get(1) == expected
        assert db.table("m").where().select("d", "u").all() == [(expected["d"], expected["u"])]
        assert db.table("m").where().to_arrow().to_pylist()[0]["d"] == expected["d"]


@dataclass
class Event:
    id: int
    at: dt.datetime = bobak.column(type="timestamp")


def test_an_instant_that_no_datetime_has_is_rejected(tmp_path: Path) -> None:
    east, west = (dt.timezone(dt.timedelta(hours=hours)) for hours in (2, -2))
    with bobak.connect(stdio_url(tmp_path)) as db:
        db.create(Event)
        events = db.table(Event)
        for at in (dt.datetime(1, 1, 1, tzinfo=east), dt.datetime.max.replace(tzinfo=west)):
            with pytest.raises(bobak.Error) as raised:
                events.insert(Event(0, at))
            assert raised.value.kind is ErrorKind.OUT_OF_RANGE
        events.insert(Event(0, dt.datetime(1, 1, 1, 2, tzinfo=east)))
        assert [event.at for event in events] == [dt.datetime(1, 1, 1, tzinfo=dt.timezone.utc)]
        # One that another program has stored is named.
        db.execute("UPDATE event SET at = '0000-12-31T00:00:00Z'")
        with pytest.raises(bobak.Error, match=r"in the row with id 1\)"):
            events.all()


@dataclass
class TextEvent:
    id: int
    at: dt.datetime = bobak.column(type="timestamp", store="text")


def test_the_text_of_an_instant_has_its_range(tmp_path: Path) -> None:
    last = dt.datetime(9999, 12, 30, 22, 0, 0, 999_999, dt.timezone.utc)
    with bobak.connect(stdio_url(tmp_path)) as db:
        db.create(TextEvent)
        events = db.table(TextEvent)
        events.insert(TextEvent(0, last))
        for at in (last + dt.timedelta(microseconds=1), last + dt.timedelta(days=1)):
            with pytest.raises(bobak.Error) as raised:
                events.insert(TextEvent(0, at))
            assert raised.value.column == "at"
            with pytest.raises(bobak.Error):
                events.insert_many([TextEvent(0, at)])
            with pytest.raises(bobak.Error):
                events.set(1, at=at)
        assert [event.at for event in events] == [last]
