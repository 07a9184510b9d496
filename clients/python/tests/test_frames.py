"""Frames of pandas and tables of pyarrow, out and in."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from records import Kinds, Person, people
from serving import ROOT

import bobak
from bobak import col, count
from bobak._core import calls, columns
from bobak._sync.table import Selection
from bobak._wire.code import Garbled
from bobak._wire.schema import Type


def kinds() -> list[Kinds]:
    aware = dt.datetime(2024, 2, 29, 12, 0, 0, 1, dt.timezone.utc)
    full = Kinds(
        id=1,
        yes=True,
        small=7,
        real=0.5,
        raw=b"\0\xff",
        key=uuid.uuid4(),
        money=Decimal("-1.2345"),
        day=dt.date(1815, 12, 10),
        clock=dt.time(1, 2, 3, 4),
        local=dt.datetime(2024, 2, 29, 12),
        instant=aware,
        document={"a": 1},
        day_text=dt.date(1815, 12, 10),
        instant_text=aware,
    )
    return [full, Kinds(id=2, yes=False, small=0)]


def test_arrow(socket_url: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with bobak.connect(socket_url) as db:
        db.create(Person, Kinds)
        table, mixed = db.table(Person), db.table(Kinds)
        table.insert_many(people(1_000))
        found = table.where(col.age < 3).to_arrow()
        assert found.num_rows == 24
        assert found.schema.field("balance").type == pyarrow.decimal128(19, 4)
        again = found.set_column(0, "id", pyarrow.array([None] * 24, pyarrow.int64()))
        assert table.insert_frame(again).inserted == 24
        assert table.count() == 1_024
        mixed.insert_many(kinds())
        columns = mixed.where().to_arrow()
        assert columns.schema.field("instant").type == pyarrow.timestamp("us", tz="UTC")
        mixed.where().delete()
        assert mixed.insert_frame(columns).inserted == 2
        full, found_again = kinds()[0], mixed.require(1)
        full.key = found_again.key
        assert found_again == full
        assert mixed.where(col.id > 9).to_arrow().num_rows == 0
        wrong = pyarrow.table({"id": [9], "yes": [True], "small": [1], "document": ["{"]})
        with pytest.raises(bobak.Error, match="not JSON") as raised:
            mixed.insert_frame(wrong)
        assert raised.value.column == "document"
        assert db.sql("SELECT id, name FROM person LIMIT 3").to_arrow().num_columns == 2
        for other in ("'x'", "x'00'"):
            unlike = f"SELECT 1 AS a UNION ALL SELECT {other}"
            with pytest.raises(bobak.Error) as caught:
                db.sql(unlike).to_arrow()
            assert caught.value.kind is bobak.ErrorKind.MISMATCH and caught.value.column == "a"


@dataclass
class Measure:
    """A record of every type that has no text form."""

    id: int
    yes: bool | None
    tiny: int | None = bobak.column(type="i8")
    wide: int | None = bobak.column(type="u64")
    single: float | None = bobak.column(type="f32")
    real: float | None = None
    text: str | None = None
    raw: bytes | None = None
    key: uuid.UUID | None = None
    money: Decimal | None = None
    day: dt.date | None = None
    clock: dt.time | None = None
    local: dt.datetime | None = None


def measures() -> list[Measure]:
    full = [True, -128, 2**63 - 1, 0.5, -1e300, "Zürich €", b"\0\xff", uuid.uuid4()]
    full += [Decimal("-1.2345"), dt.date(1815, 12, 10), dt.time(1, 2, 3, 4)]
    full += [dt.datetime(1850, 2, 28, 12)]
    other = [False, 127, 0, -2.0, 7.0, "", b"", uuid.UUID(int=0), Decimal(-1)]
    other += [dt.date(2024, 2, 29), dt.time(), dt.datetime(1970, 1, 1)]
    rows = [full, [None] * 12, other]
    return [Measure(0, *rows[number % 3]) for number in range(3_000)]  # type: ignore[arg-type]


def calls_of_columns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has an item for each selection whose values are read one by one."""
    columns_of = Selection._columns
    called: list[int] = []

    def counted(selection: Selection[Measure]) -> object:
        called.append(1)
        return columns_of(selection)

    monkeypatch.setattr(Selection, "_columns", counted)
    return called


def test_arrow_from_bytes_is_that_from_values(
    socket_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    with bobak.connect(socket_url) as db:
        db.create(Measure)
        table = db.table(Measure)
        table.insert_many(measures())
        called = calls_of_columns(monkeypatch)
        for found in (
            table.where(),
            table.where(col.id < 0),
            table.where().select("text", "id"),
            table.where().select("yes", count(), col.real.sum(), col.day.max()).group_by("yes"),
        ):
            fast = found.to_arrow()
            assert not called
            fast.validate(full=True)
            with monkeypatch.context() as slow:
                # As if the server were older.
                slow.setattr(calls, "_COLUMN_BLOCKS", 1 << 31)
                assert found.to_arrow().equals(fast)
            assert called.pop()
        assert table.where().to_arrow().column(0).num_chunks > 1


def test_frame_from_arrays_is_that_from_values(
    socket_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    plain = [name for name in Measure.__dataclass_fields__ if name != "key"]
    with bobak.connect(socket_url) as db:
        db.create(Measure)
        table = db.table(Measure)
        table.insert_many(measures())
        called = calls_of_columns(monkeypatch)
        for found in (
            table.where().select(*plain),
            table.where(col.id < 0).select(*plain),
            table.where().limit(1).select(*plain),
            table.where().select("yes", count(), col.real.sum(), col.day.max()).group_by("yes"),
        ):
            fast = found.to_pandas()
            assert not called
            with monkeypatch.context() as slow:
                slow.setattr(calls, "_COLUMN_BLOCKS", 1 << 31)
                pandas.testing.assert_frame_equal(found.to_pandas(), fast)
            assert called.pop()
        # A UUID is an object of Python.
        assert isinstance(table.where().limit(1).to_pandas()["key"][0], uuid.UUID)
        assert called.pop()
        db.execute("INSERT INTO measure (yes, real, text) VALUES (1, 'many', 'x')")
        frame = table.where(col.text == "x").select("text").to_pandas()
        assert list(frame["text"]) == ["x"] and not called


def test_values_of_other_types_are_read_one_by_one(socket_url: str) -> None:
    pytest.importorskip("pyarrow")
    with bobak.connect(socket_url) as db:
        db.create(Person)
        db.execute("INSERT INTO person (name, age, balance) VALUES ('Ann', 'old', 0)")
        with pytest.raises(bobak.Error) as caught:
            db.table(Person).where().to_arrow()
        assert caught.value.kind is bobak.ErrorKind.MISMATCH
        assert db.table(Person).where().select("name").to_arrow().num_rows == 1
        # A later block has the value: the rest of the response is skipped, and the rows are read.
        db.execute("DELETE FROM person")
        db.table(Person).insert_many(people(20_000))
        db.execute("INSERT INTO person (name, age, balance) VALUES ('Ann', 'old', 0)")
        with pytest.raises(bobak.Error) as caught:
            db.table(Person).where().order_by("id").to_arrow()
        assert caught.value.kind is bobak.ErrorKind.MISMATCH
        # The one of the first block: the others are not read.
        with pytest.raises(bobak.Error) as caught:
            db.table(Person).where().order_by("-id").to_arrow()
        assert caught.value.kind is bobak.ErrorKind.MISMATCH
        assert db.table(Person).where(col.id <= 20_000).to_arrow().num_rows == 20_000


def example() -> bytes:
    """The block in the page of the protocol."""
    page = (ROOT / "docs" / "wire.md").read_text().split("### Blocks")[1]
    table = next(part for part in page.split("\n\n") if part.startswith("| bytes | meaning |"))
    cells = [line.split("|")[1].strip(" `") for line in table.splitlines()[2:]]
    return bytes.fromhex(" ".join(cells))


def test_a_block_is_used_as_it_is() -> None:
    arrow = pytest.importorskip("pyarrow")
    body = example()
    kinds, types = [Type.I32, Type.TEXT], [arrow.int32(), arrow.string()]
    arrays = columns.arrays_of(arrow, body, kinds, types)
    assert [array.to_pylist() for array in arrays] == [[7, None, -1], ["Bern", "", "Chur"]]
    memory = arrow.py_buffer(body).address
    assert arrays[1].buffers()[2].address == memory + len(body) - 8
    with pytest.raises(columns.OtherValues):
        columns.arrays_of(arrow, body, [Type.I64, Type.TEXT], types)


def test_damaged_blocks_are_no_arrow_table() -> None:
    arrow = pytest.importorskip("pyarrow")
    kinds, types = [Type.I32, Type.TEXT], [arrow.int32(), arrow.string()]
    good = example()
    for place in range(len(good)):
        with pytest.raises(Garbled):
            columns.arrays_of(arrow, good[:place], kinds, types)
        for bit in range(8):
            damaged = bytearray(good)
            damaged[place] ^= 1 << bit
            with suppress(Garbled, columns.OtherValues):
                for array in columns.arrays_of(arrow, bytes(damaged), kinds, types):
                    array.validate(full=True)
    for place, byte in ((0, 200), (4, 3), (6, 1), (8, 99), (9, 2), (20, 7), (52, 60), (64, 0xFF)):
        damaged = bytearray(good)
        damaged[place] = byte
        with pytest.raises(Garbled):
            columns.arrays_of(arrow, bytes(damaged), kinds, types)
    with pytest.raises(Garbled):
        columns.arrays_of(arrow, good + bytes(8), kinds, types)


def test_pandas(socket_url: str) -> None:
    pandas = pytest.importorskip("pandas")
    with bobak.connect(socket_url) as db:
        db.create(Person, Kinds)
        table, mixed = db.table(Person), db.table(Kinds)
        table.insert_many(people(1_000))
        frame = table.where().to_pandas()
        assert str(frame.dtypes["age"]) == "Int64" and frame["age"].isna().sum() == 12
        assert frame["balance"].sum() == sum(one.balance for one in people(1_000))
        assert table.insert_frame(frame.drop(columns="id")).inserted == 1_000
        assert table.count() == 2_000
        mixed.insert_many(kinds())
        both = mixed.where().to_pandas()
        assert both["instant"].dtype == pandas.DatetimeTZDtype("us", "UTC")
        mixed.where().delete()
        assert mixed.insert_frame(both).inserted == 2
        full = kinds()[0]
        full.key = mixed.require(1).key
        assert mixed.require(1) == full
        grouped = table.where().select("age", count()).group_by("age").to_pandas()
        assert list(grouped.columns) == ["age", "count"] and len(grouped) == 90
        assert list(db.sql("SELECT 1 AS one").to_pandas()["one"]) == [1]
        assert len(table.where(col.id < 0).to_pandas()) == 0


def test_columns_of_one_name(socket_url: str) -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    with bobak.connect(socket_url) as db:
        db.create(Person)
        table = db.table(Person)
        for names in (["name", "name"], ["Name", "name"]):
            columns = [arrow.array(["a"]), arrow.array(["b"])]
            frames = [
                pandas.DataFrame([["a", "b"]], columns=names),
                arrow.Table.from_arrays(columns, names=names),
                pandas.DataFrame([], columns=names),
            ]
            for frame in frames:
                with pytest.raises(bobak.Error, match="two columns 'name'") as caught:
                    table.insert_frame(frame)
                assert caught.value.kind is bobak.ErrorKind.SCHEMA
        assert table.count() == 0
        # In a data frame 0 is an ordinary key, and a missing one is generated.
        frame = pandas.DataFrame({"id": [0, None], "name": ["a", "b"], "balance": [0, 0]})
        table.insert_frame(frame.astype({"id": "Int64"}))
        assert [one.id for one in table.all()] == [0, 1]


def test_what_is_no_frame(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Person)
        with pytest.raises(bobak.Error) as caught:
            db.table(Person).insert_frame([1, 2])
        assert caught.value.kind is bobak.ErrorKind.MISMATCH


class Status(enum.Enum):
    OPEN = "open"
    CLOSED = "closed"


@dataclass
class Plain:
    id: int
    status: Status = Status.OPEN


@dataclass
class Mixed:
    id: int
    status: Status = Status.OPEN
    extra: Any = None
    key: uuid.UUID | None = None
    day: dt.date = bobak.column(store="text", default=dt.date(2024, 7, 1))


def test_the_members_of_an_enum_are_their_values(socket_url: str) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    with bobak.connect(socket_url) as db:
        db.create(Plain, Mixed)
        for table, record in ((db.table(Plain), Plain(0)), (db.table(Mixed), Mixed(0))):
            table.insert(record)
            rows = table.where()
            assert rows.to_arrow().column("status").to_pylist() == ["open"]
            assert rows.to_pandas()["status"].tolist() == ["open"]
            assert table.insert_frame(rows.to_pandas().drop(columns="id")).inserted == 1
            assert [one.status for one in table.all()] == [Status.OPEN] * 2
        assert rows.to_arrow().column("day").to_pylist() == [dt.date(2024, 7, 1)] * 2
