"""Tables that another program changes while a program uses them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import bobak
from bobak import ErrorKind, col


@dataclass
class Part:
    id: int
    name: str


@dataclass
class OldPart:
    __table__ = "part"

    id: int
    name: str
    size: int | None = None


def test_a_table_that_has_other_columns_is_looked_at_again(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(OldPart)
        parts, rows = db.table(Part), db.table("part")
        assert parts.insert(Part(0, "a")) == 1
        assert rows.get(1) == {"id": 1, "name": "a", "size": None}
        db.execute("ALTER TABLE part DROP COLUMN size")
        db.execute("ALTER TABLE part ADD COLUMN weight INTEGER")
        # Each handle, and what was selected before.
        selected = rows.where(col.name == "a")
        assert parts.get(1) == Part(1, "a")
        assert selected.all() == [{"id": 1, "name": "a", "weight": None}]
        assert rows.insert({"name": "b", "weight": 5}) == 2
        assert parts.where(col.weight == 5).count() == 1
        assert parts.set(1, weight=6)
        assert [row["weight"] for row in rows] == [6, 5]
        with pytest.raises(bobak.Error) as caught:
            rows.where(col.size == 5).all()
        assert caught.value.kind is ErrorKind.SCHEMA
        # The class of a handle may not fit any more.
        with pytest.raises(bobak.Error) as caught:
            db.table(OldPart)
        assert caught.value.kind is ErrorKind.SCHEMA
