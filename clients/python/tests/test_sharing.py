"""Connections that several tasks, threads, event loops and processes use."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import serving
from records import Person, people

import bobak
from bobak import ErrorKind


def few(url: str, connections: int) -> str:
    return f"{url}{'&' if '?' in url else '?'}connections={connections}"


def test_an_abandoned_iterator_gives_its_connection_back(url: str) -> None:
    async def work() -> None:
        async with await bobak.connect_async(few(url, 2)) as db:
            await db.create(Person)
            table = await db.table(Person)
            await table.insert_many(people(5_000))
            for _ in range(10):
                async for _ in table:
                    break
                assert await table.count() == 5_000
            await asyncio.gather(*(asyncio.create_task(read(table)) for _ in range(50)))
            assert await asyncio.gather(table.count(), table.count()) == [5_000, 5_000]
            assert db._pool._holders == {}

    async def read(table: bobak.AsyncTable[Person]) -> None:
        async for _ in table:
            break

    asyncio.run(work())


def test_a_transaction_may_end_in_another_thread(socket_url: str) -> None:
    with bobak.connect(few(socket_url, 1)) as db:
        db.create(Person)
        table = db.table(Person)
        table.insert_many(people(5_000))
        rows = iter(table)
        next(rows)
        ending = threading.Thread(target=rows.close)  # type: ignore[attr-defined]
        ending.start()
        ending.join()
        assert db._pool._holders == {}
        assert table.count() == 5_000


def test_tasks_take_turns_in_a_transaction(url: str) -> None:
    async def work() -> None:
        async with await bobak.connect_async(url) as db:
            await db.create(Person)
            async with db.transaction() as transaction:
                table = await transaction.table(Person)
                keys = await asyncio.gather(*(table.insert(one) for one in people(20)))
                assert sorted(keys) == list(range(1, 21))
            outside = await db.table(Person)
            assert await outside.count() == 20
            with pytest.raises(bobak.Error) as caught:
                async with db.transaction() as transaction:
                    table = await transaction.table(Person)
                    wrong = table.insert(Person(1, "Ada"))
                    await asyncio.gather(table.delete(1), table.delete(2), wrong, wrong_key(table))
            assert caught.value.kind is ErrorKind.MISUSE
            assert await outside.count() == 20

    async def wrong_key(table: bobak.AsyncTable[Person]) -> None:
        await table.delete((1, 2))

    asyncio.run(work())


def test_threads_take_turns_in_a_transaction(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        with db.transaction() as transaction:
            table = transaction.table(Person)
            threads = [
                threading.Thread(target=lambda: [table.insert(one) for one in people(50)])
                for _ in range(4)
            ]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
        assert db.table(Person).count() == 200


def test_a_call_within_a_call_of_a_transaction(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        with db.transaction() as transaction:
            inside = transaction.table(Person)
            rows = ((inside.count(), f"name {number}") for number in range(3))
            text = "INSERT INTO person (age, name, balance) VALUES (?, ?, 0)"
            with pytest.raises(bobak.Error, match="make a list of it first") as caught:
                transaction.execute_many(text, rows)
            assert caught.value.kind is ErrorKind.MISUSE


def test_a_cancelled_call_does_not_wait_for_the_server(tmp_path: Path) -> None:
    server = serving.unix(tmp_path)

    async def work() -> None:
        db = await bobak.connect_async(f"bobak+unix:{server.place}")
        await db.create(Person)
        table = await db.table(Person)

        async def in_transaction() -> None:
            async with db.transaction() as transaction:
                inside = await transaction.table(Person)
                started.set_result(None)
                await asyncio.sleep(3600)
                await inside.count()

        started = asyncio.get_running_loop().create_future()
        waiting = asyncio.create_task(in_transaction())
        await started
        server.child.send_signal(signal.SIGSTOP)
        os.waitpid(server.child.pid, os.WUNTRACED)
        try:
            waiting.cancel()
            calls: list[Coroutine[Any, Any, Any]] = [
                table.insert_many(people(200_000)),
                table.count(),
                table.insert(Person(0, "Ada")),
            ]
            for call in calls:
                task = asyncio.create_task(call)
                await asyncio.sleep(0.1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            with pytest.raises(asyncio.CancelledError):
                await waiting
        finally:
            server.child.send_signal(signal.SIGCONT)
        # Nothing that was cancelled was done completely, but perhaps the single row.
        assert await table.count() <= 1
        await db.close()

    asyncio.run(work())
    server.stop()


#: The database that forked processes inherit.
inherited: list[bobak.Database] = []


@pytest.fixture
def shared(socket_url: str) -> Iterator[bobak.Database]:
    with bobak.connect(socket_url) as db:
        db.create(Person)
        db.table(Person).insert_many(people(100))
        inherited.append(db)
        yield db
    inherited.clear()


def name_of(key: int) -> str:
    return inherited[0].table(Person).require(key).name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_opens_its_own_connections(shared: bobak.Database) -> None:
    with shared.transaction() as transaction:
        table = transaction.table(Person)
        with get_context("fork").Pool(4) as pool:
            found = pool.map(name_of, range(1, 101), chunksize=1)
        assert found == [f"P {number}" for number in range(100)]
        assert table.require(7).name == "P 6"
    assert name_of(8) == "P 7"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_cannot_continue_a_transaction(shared: bobak.Database) -> None:
    with shared.transaction() as transaction:
        table = transaction.table(Person)
        child = os.fork()
        if child == 0:
            try:
                table.count()
                os._exit(1)
            except bobak.Error as error:
                os._exit(0 if error.kind is ErrorKind.MISUSE else 2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert table.count() == 100


def test_another_event_loop_is_rejected(url: str) -> None:
    db = asyncio.run(bobak.connect_async(url))

    async def work() -> None:
        for _ in range(2):
            with pytest.raises(bobak.Error, match="another event loop") as caught:
                await db.ping()
            assert caught.value.kind is ErrorKind.MISUSE

    asyncio.run(work())
