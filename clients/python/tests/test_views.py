"""Views are tables that can only be read."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import bobak
from bobak import ErrorKind, col


@dataclass
class Large:
    id: int
    amount: int


def test_views_are_read(url: str) -> None:
    with bobak.connect(url) as db:
        db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)")
        db.execute("INSERT INTO item (amount) VALUES (1), (4), (5)")
        db.execute("CREATE VIEW large AS SELECT id, amount FROM item WHERE amount > 3")
        view, items = db.table(Large), db.table("item")
        assert view.where().order_by("-amount").all() == [Large(3, 5), Large(2, 4)]
        assert view.where(col.amount > 4).count() == 1
        assert db.table("large").where().first() is not None
        largest = view.where(col.amount > 4).column("id")
        assert items.where(col.id.is_in(largest)).all() == [{"id": 3, "amount": 5}]
        assert view.where().related("id", items.where().all(), "id")[0] == []
        for call, kind in [
            (lambda: view.insert(Large(9, 9)), ErrorKind.UNSUPPORTED),
            (lambda: view.where().update(amount=1), ErrorKind.UNSUPPORTED),
            (lambda: view.where().delete(), ErrorKind.UNSUPPORTED),
            # It has no key.
            (lambda: view.get(2), ErrorKind.MISUSE),
        ]:
            with pytest.raises(bobak.Error) as caught:
                call()
            assert caught.value.kind is kind
        assert items.where().count() == 3
