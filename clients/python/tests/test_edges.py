"""Values at the edges of their types, batches that are long and wrong, servers that are killed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest
import serving
from records import Person, people

import bobak
from bobak import ErrorKind, col


@dataclass
class Edge:
    id: int
    number: int | None = None
    money: Decimal | None = None
    text: str | None = None
    blob: bytes | None = None


LEAST, MOST = -(1 << 63), (1 << 63) - 1
CENT = Decimal("0.0001")
EDGES = [
    Edge(1, LEAST, LEAST * CENT, "", b""),
    Edge(2, MOST, MOST * CENT, "\0", b"\0"),
    Edge(3, (1 << 53) + 1, Decimal("0.0001"), "a\0b", b"a\0b\0"),
    Edge(4, -(1 << 53) - 1, Decimal("-0.0001"), "\0\0", b"\0\xff"),
    Edge(5, 0, Decimal("0.0000"), "é\U0001f9ab", b"\xff\xfe"),
    Edge(6),
]


def test_values_at_the_edges(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Edge)
        table = db.table(Edge)
        for edge in EDGES:
            assert table.insert(edge) == edge.id
        assert table.all() == EDGES
        table.where().delete()
        assert table.insert_many(EDGES).inserted == len(EDGES)
        assert table.all() == EDGES == list(table) == table.get_many(range(1, 7))
        for edge in EDGES[:5]:
            # In conditions, as parameters, in results.
            for name in ("number", "money", "text", "blob"):
                found = table.where(getattr(col, name) == getattr(edge, name)).all()
                assert found == [edge], name
            stored = edge.number, int((edge.money or 0) / CENT), edge.text, edge.blob
            assert db.sql("SELECT ?, ?, ?, ?", stored) == [stored]
            assert table.set(edge.id, number=None, money=None, text=None, blob=None)
            assert table.require(edge.id) == Edge(edge.id)
            table.update(edge)
        assert table.all() == EDGES
        assert db.sql("SELECT id FROM edge WHERE text IS NULL OR blob IS NULL") == [(6,)]
        assert table.where(col.number > 1 << 53).count() == 2
        for wrong in (LEAST - 1, MOST + 1):
            for name in ("number", "money"):
                edge = replace(EDGES[5], **{name: wrong if name == "number" else wrong * CENT})
                with pytest.raises(bobak.Error) as caught:
                    table.upsert(edge)
                assert caught.value.kind is ErrorKind.OUT_OF_RANGE, (name, wrong)


def test_conditions_that_are_nested_too_deeply() -> None:
    for deep in (300, 10_000):
        with pytest.raises(bobak.Error, match="nested deeper than 200 levels") as raised:
            condition = col.id == 0
            for number in range(deep):
                condition = ~(condition & (col.id == number))
        assert raised.value.kind is ErrorKind.OUT_OF_RANGE
    # What is not nested may be long.
    condition = col.id == 0
    for number in range(10_000):
        condition = condition | (col.id == number)
    assert condition.depth == 2


def test_a_long_batch(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Person)
        table = db.table(Person)
        many = [replace(one, id=number) for number, one in enumerate(people(100_000), 1)]
        wrong = [*many]
        wrong[50_000] = replace(many[50_000], id=7)
        with pytest.raises(bobak.Error) as caught:
            table.insert_many(wrong)
        error = caught.value
        assert (error.kind, error.row, error.table) == (ErrorKind.DUPLICATE, 50_000, "person")
        assert table.count() == 0
        report = table.insert_many(wrong, on_error="continue")
        assert (report.inserted, [one.row for one in report.errors]) == (99_999, [50_000])
        assert table.insert_many(many, on_conflict="ignore").ignored == 99_999
        assert table.all() == many


async def _killed_while_reading(url: str, server: serving.Server) -> bobak.Error:
    async with await bobak.connect_async(url) as db:
        seen = 0
        with pytest.raises(bobak.Error) as caught:
            async for _ in await db.table(Person):
                seen += 1
                if seen == 1:
                    server.kill()
        assert 0 < seen < 100_000
        return caught.value


def test_a_server_that_is_killed_under_a_read(tmp_path: Path) -> None:
    server = serving.unix(tmp_path)
    url = f"bobak+unix:{server.place}"
    with bobak.connect(url) as db:
        db.create(Person)
        table = db.table(Person)
        table.insert_many(people(100_000))
        rows = iter(table)
        next(rows)
        server.kill()
        with pytest.raises(bobak.Error) as caught:
            for _ in rows:
                pass
        assert caught.value.kind is ErrorKind.UNREACHABLE and caught.value.is_retryable
    (tmp_path / "socket").unlink()
    server = serving.unix(tmp_path)
    error = asyncio.run(_killed_while_reading(url, server))
    assert error.kind is ErrorKind.UNREACHABLE and error.is_retryable


def test_a_child_that_is_killed_under_a_batch(tmp_path: Path) -> None:
    with bobak.connect(serving.stdio_url(tmp_path)) as db:
        db.create(Person)
        table = db.table(Person)
        child = db._pool._rested[0]._transport._child  # type: ignore[attr-defined]

        def until_killed() -> Iterator[Person]:
            yield from people(20_000)
            child.kill()
            child.wait()
            yield from people(20_000)

        with pytest.raises(bobak.Error) as caught:
            table.insert_many(until_killed())
        assert caught.value.kind is ErrorKind.UNKNOWN and not caught.value.is_retryable
        # The next child process finds none of the rows.
        assert table.count() == 0
