"""Values of SQL results, as tuples, as records and as tables of pyarrow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

import bobak
from bobak import ErrorKind


@dataclass
class Paid:
    id: int
    amount: Decimal
    day: dt.date
    is_open: bool
    note: dict[str, Any] = bobak.column(default_factory=dict)


@dataclass
class OneAmount:
    x: Decimal | None


@dataclass
class OneFloat:
    x: float


@dataclass
class OneInt:
    x: int


@dataclass
class OneText:
    x: str


@dataclass
class OneDay:
    x: dt.date


@dataclass
class OneBool:
    x: bool


@dataclass
class OneAny:
    x: Any


@pytest.fixture
def db(socket_url: str) -> Iterator[bobak.Database]:
    with bobak.connect(socket_url) as db:
        db.create(Paid)
        day = dt.date(2024, 7, 1)
        paid = [Paid(0, Decimal(amount), day, True, {"x": 1}) for amount in ("2.50", "2.00")]
        db.table(Paid).insert_many(paid)
        yield db


READ = [
    ("amount", OneAmount, Decimal("2.0000")),
    ("amount", OneFloat, 2.0),
    ("amount", OneInt, 2),
    ("amount", OneAny, Decimal("2.0000")),
    ("amount * 2", OneAmount, Decimal("4.0000")),
    ("5", OneAmount, Decimal("5.0000")),
    ("5", OneFloat, 5.0),
    ("count(*)", OneFloat, 1.0),
    ("count(*)", OneInt, 1),
    ("sum(0.5)", OneFloat, 0.5),
    ("day", OneDay, dt.date(2024, 7, 1)),
    ("day", OneAny, dt.date(2024, 7, 1)),
    ("is_open", OneBool, True),
    ("is_open", OneAny, True),
    ("id > 1", OneBool, True),
    ("note", OneAny, {"x": 1}),
    ("note", OneText, '{"x":1}'),
    ("NULL", OneAmount, None),
]


def test_a_result_is_converted_to_the_type_of_the_field(db: bobak.Database) -> None:
    for expression, cls, expected in READ:
        text = f"SELECT {expression} AS x FROM paid WHERE amount = 2"
        found = db.sql(text, into=cls)[0].x
        assert (type(found), found) == (type(expected), expected), expression


def test_a_result_that_does_not_fit_the_field_is_rejected(db: bobak.Database) -> None:
    for expression, cls, kind in [
        ("amount", OneInt, ErrorKind.OUT_OF_RANGE),
        ("9007199254740993", OneFloat, ErrorKind.OUT_OF_RANGE),
        ("amount", OneText, ErrorKind.MISMATCH),
        ("count(*)", OneAmount, ErrorKind.MISMATCH),
        ("day", OneAmount, ErrorKind.MISMATCH),
        ("day", OneInt, ErrorKind.MISMATCH),
        ("5", OneDay, ErrorKind.MISMATCH),
        ("'x'", OneInt, ErrorKind.MISMATCH),
    ]:
        with pytest.raises(bobak.Error) as caught:
            db.sql(f"SELECT {expression} AS x FROM paid WHERE amount = 2.5", into=cls)
        assert (caught.value.kind, caught.value.column) == (kind, "x"), expression


def test_tuples_have_the_values_that_tables_return(db: bobak.Database) -> None:
    found = db.sql("SELECT amount, day, is_open, note FROM paid ORDER BY id")[0]
    assert found == (Decimal("2.5"), dt.date(2024, 7, 1), True, {"x": 1})
    assert found[2] is True
    assert list(db.sql_iter("SELECT is_open, note FROM paid")) == [(True, {"x": 1})] * 2


def test_the_types_of_a_table_do_not_depend_on_the_rows(db: bobak.Database) -> None:
    arrow = pytest.importorskip("pyarrow")
    text = "SELECT sum(amount) AS total, is_open, day FROM paid WHERE id > ? GROUP BY is_open, day"
    some, none = db.sql(text, (0,)).to_arrow(), db.sql(text, (5,)).to_arrow()
    assert some.schema == none.schema
    assert some.schema.field("total").type == arrow.decimal128(19, 4)
    assert some.schema.field("is_open").type == arrow.bool_()
    assert (some.num_rows, none.num_rows) == (1, 0)


def test_a_truth_value_of_numpy_is_a_bool(db: bobak.Database) -> None:
    numpy = pytest.importorskip("numpy")
    assert db.sql("SELECT count(*) FROM paid WHERE is_open = ?", (numpy.bool_(True),)) == [(2,)]
    parameter = bobak._core.types.parameter(numpy.bool_(True))
    assert (parameter.value, parameter.type.name) == (1, "BOOL")
