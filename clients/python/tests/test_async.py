"""The sync API is generated from the async one, which behaves the same."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from records import Person, Square, people

import bobak
from bobak import ErrorKind, col, count

TOOLS = Path(__file__).parent.parent / "tools"


def test_the_sync_api_is_current() -> None:
    sys.path.insert(0, str(TOOLS))
    import make_sync

    for name in make_sync.FILES:
        made = make_sync.made((make_sync.SOURCE / "_async" / name).read_text())
        found = (make_sync.SOURCE / "_sync" / name).read_text()
        assert found == made, f"_sync/{name} is not the output of tools/make_sync.py"


def test_awaited(url: str) -> None:
    asyncio.run(work(url))


async def work(url: str) -> None:
    async with await bobak.connect_async(url) as db:
        await db.create(Person, Square)
        table = await db.table(Person)
        assert await table.insert(Person(0, "Ada")) == 1
        assert await table.get(1) == Person(1, "Ada")
        report = await table.insert_many(people(30_000))
        assert report.inserted == 30_000
        assert await table.where(col.age > 80).count() == 2_997
        seen = 0
        async for one in table:
            seen += one.id > 0
        assert seen == 30_001
        total = await table.where(col.age < 2).select("age", count()).group_by("age").all()
        assert total == [(1, 334)]
        async with db.transaction() as transaction:
            squares = await transaction.table(Square)
            await squares.insert(Square(1, "A"))
            with pytest.raises(bobak.Error) as caught:
                await squares.insert(Square(1, "A"))
            assert caught.value.kind is ErrorKind.DUPLICATE
        with pytest.raises(ZeroDivisionError):
            async with db.transaction() as transaction:
                await transaction.execute("DELETE FROM person")
                raise ZeroDivisionError
        found = await db.sql("SELECT count(*) FROM person")
        assert found == [(30_001,)]
        assert await db.execute_many("DELETE FROM person WHERE id = ?", [(1,), (2,)]) == 2
        many = [db.sql("SELECT ?", (n,)) for n in range(200)]
        assert [rows[0][0] for rows in await asyncio.gather(*many)] == list(range(200))
        assert await first(db.sql_iter("SELECT id FROM person ORDER BY id")) == (3,)


async def first(rows: AsyncIterator[object]) -> object:
    async for row in rows:
        return row
    return None


def test_a_cancelled_task_keeps_the_connection(url: str) -> None:
    asyncio.run(cancel(url))


async def cancel(url: str) -> None:
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    async with await bobak.connect_async(url) as db:
        await db.create(Person)
        table = await db.table(Person)
        await table.insert_many(people(3_000))
        for _ in range(3):
            task = asyncio.create_task(db.sql(f"{endless} WHERE x > ?", (0,)))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await table.count() == 3_000
        # A transaction also continues after a cancelled request.
        async with db.transaction() as transaction:
            inside = await transaction.table(Person)
            await inside.delete(1)
            task = asyncio.create_task(transaction.sql(endless))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await inside.delete(2)
        assert await table.count() == 2_998


def test_a_task_is_cancelled_at_any_step(url: str) -> None:
    asyncio.run(cancel_at_any_step(url))


async def cancel_at_any_step(url: str) -> None:
    async with await bobak.connect_async(f"{url}{'&' if '?' in url else '?'}connections=2") as db:
        await db.create(Person)
        table = await db.table(Person)

        async def work() -> None:
            while True:
                await table.insert(Person(0, "x"))
                async with db.transaction():
                    pass

        for steps in range(150):
            tasks = [asyncio.create_task(work()) for _ in range(3)]
            for _ in range(steps):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            # All have ended, and none still uses a connection.
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in ended), (steps, ended)
        assert await asyncio.gather(table.count(), table.count())
