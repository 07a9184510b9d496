"""Mistakes in queries are errors of the kind ``MISUSE`` with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from records import Person, people

import bobak
from bobak import ErrorKind, col, count


def test_what_is_not_a_condition_or_a_name(socket_url: str) -> None:
    wrong: Any = None
    with bobak.connect(socket_url) as db:
        db.create(Person)
        table = db.table(Person)
        table.insert_many(people(10))
        rows = table.where()
        calls: list[Callable[[], Any]] = [
            lambda: table.where(wrong).delete(),
            lambda: rows.where(True),  # type: ignore[arg-type]
            lambda: rows.where("age = 1"),  # type: ignore[arg-type]
            lambda: table.where((col.age > 1) & wrong),
            lambda: table.where((col.age > 1) | wrong),
            lambda: rows.order_by(col.age),  # type: ignore[arg-type]
            lambda: rows.select(col.age),  # type: ignore[arg-type]
            lambda: rows.select("age", count()).group_by(col.age),  # type: ignore[arg-type]
            lambda: rows.limit(-1),
            lambda: rows.limit(1, -1),
            lambda: rows.limit(1 << 64),
            lambda: rows.limit(1.5),  # type: ignore[arg-type]
            lambda: rows.limit("3"),  # type: ignore[arg-type]
            lambda: rows.nearest("age", [1.0], -1),
            lambda: rows.page("3"),  # type: ignore[arg-type]
            lambda: rows.limit(2).count(),
            lambda: rows.group_by("age").count(),
            lambda: rows.group_by("age").value(count()),
        ]
        for number, call in enumerate(calls):
            with pytest.raises(bobak.Error) as caught:
                call()
            assert caught.value.kind is ErrorKind.MISUSE, number
        assert table.count() == 10
        assert len(rows.limit(3, 2).all()) == 3


def test_null_in_a_list_equals_nothing(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Person)
        table = db.table(Person)
        table.insert_many([Person(0, "a", None), Person(0, "b", 1), Person(0, "c", 2)])
        assert [one.name for one in table.where(col.age.is_in([1, None])).all()] == ["b"]
        assert table.where(col.age.is_in([None])).count() == 0
        assert [one.name for one in table.where(~col.age.is_in([1, None])).all()] == ["c"]
        assert table.where(col.age == None).count() == 1  # noqa: E711
