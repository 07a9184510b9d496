"""Frames of pandas and tables of pyarrow, out and in."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import pytest
from records import Kinds, Person, people

import bobak
from bobak import col, count


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
        copied = columns.drop(["document"])
        mixed.where().delete()
        assert mixed.insert_frame(copied).inserted == 2
        full = kinds()[0]
        full.document, found_again = None, mixed.require(1)
        full.key = found_again.key
        assert found_again == full
        assert mixed.where(col.id > 9).to_arrow().num_rows == 0
        assert db.sql("SELECT id, name FROM person LIMIT 3").to_arrow().num_columns == 2
        for other in ("'x'", "x'00'"):
            unlike = f"SELECT 1 AS a UNION ALL SELECT {other}"
            with pytest.raises(bobak.Error) as caught:
                db.sql(unlike).to_arrow()
            assert caught.value.kind is bobak.ErrorKind.MISMATCH and caught.value.column == "a"


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
