"""Pages of queries, in any order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest

import bobak
from bobak import ErrorKind, col


@dataclass
class Item:
    id: int
    name: str | None
    size: float | None


VALUES = [("x", 0.1), (None, 2.0), ("é", 2.0), ("x", None), ("", 0.1), (None, None), ("x", 1e300)]


def test_pages_follow_each_other_in_any_order(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Item)
        items = db.table(Item)
        for name, size in VALUES:
            items.insert(Item(0, name, size))
        steps = ["name", "-name", "size", "-size"]
        orders = [(), ("-id",), *((step,) for step in steps), *itertools.permutations(steps, 2)]
        for order in orders:
            query = items.where(col.id > 1).order_by(*order)
            found, after = [], None
            while True:
                page = query.page(2, after)
                found += page.items
                after = page.next
                if after is None:
                    break
                assert len(page.items) == 2
            assert found == query.all(), order
        assert items.where().page(7).next is None

        # A row that is inserted before the place does not move the page.
        query = items.where().order_by("-size")
        first = query.page(3)
        items.insert(Item(0, "new", 1e301))
        assert query.page(9, first.next).items == query.all()[4:]

        for call, kind in [
            (lambda: query.page(2, "zz"), ErrorKind.MISMATCH),
            (lambda: query.page(2, ""), ErrorKind.MISMATCH),
            (lambda: query.order_by("name").page(2, first.next), ErrorKind.MISUSE),
            (lambda: items.where().order_by("size").page(2, first.next), ErrorKind.MISUSE),
            (lambda: items.where().order_by("-name").page(2, first.next), ErrorKind.MISUSE),
            (lambda: query.limit(3).page(2), ErrorKind.UNSUPPORTED),
            (lambda: query.page(0), ErrorKind.MISUSE),
        ]:
            with pytest.raises(bobak.Error) as caught:
                call()
            assert caught.value.kind is kind
