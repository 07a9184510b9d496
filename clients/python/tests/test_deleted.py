"""Records whose deleted rows stay."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import pytest

import bobak
from bobak import ErrorKind, col


@dataclass
class Note:
    id: int
    text: str
    deleted_at: dt.datetime | None = bobak.column(type="timestamp", default=None)


def test_deleted_rows(url: str) -> None:
    old, recent = (dt.datetime(year, 1, 2, tzinfo=dt.timezone.utc) for year in (2020, 2026))
    with bobak.connect(url) as db:
        db.create(Note)
        notes = db.table(Note)
        notes.insert_many([Note(1, "milk"), Note(2, "tea", old), Note(3, "rice", recent)])
        both = notes.where().with_deleted("deleted_at")
        deleted = notes.where().only_deleted("deleted_at")
        assert (both.count(), deleted.count()) == (3, 2)
        assert notes.where().purge("deleted_at", recent) == 1
        assert notes.where(col.text == "rice").restore("deleted_at") == 1
        assert notes.where().restore("deleted_at") == 0
        assert (both.count(), deleted.count()) == (2, 0)
        for call, kind in [
            (lambda: notes.where().limit(1).restore("deleted_at"), ErrorKind.MISUSE),
            (lambda: notes.where().only_deleted("gone").all(), ErrorKind.SCHEMA),
        ]:
            with pytest.raises(bobak.Error) as error:
                call()
            assert error.value.kind is kind
