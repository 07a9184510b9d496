"""Changes of tracked tables: pages, following, and the history of one record."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from dataclasses import replace
from decimal import Decimal

import pytest
from records import Note, Person, Square

import bobak
from bobak import ChangeKind, ErrorKind

INSERT, UPDATE, DELETE = ChangeKind.INSERT, ChangeKind.UPDATE, ChangeKind.DELETE


def kind_of(call: object, *arguments: object, **named: object) -> ErrorKind:
    with pytest.raises(bobak.Error) as caught:
        call(*arguments, **named)  # type: ignore[operator]
    return caught.value.kind


def test_changes_of_some_tables_and_of_all(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person, Square, Note)
        assert kind_of(db.changes) is ErrorKind.SCHEMA
        db.track(Person)
        db.track("square")
        assert kind_of(db.changes, Note) is ErrorKind.SCHEMA
        assert db.last_change() == 0 and db.changes().changes == []
        ada = Person(0, "Ada\0", None, Decimal("0.0001"))
        people, squares = db.table(Person), db.table(Square)
        ada = replace(ada, id=people.insert(ada))
        squares.insert(Square(1, "A"))
        db.execute("UPDATE person SET age = 7")
        squares.delete((1, "A"))

        page = db.changes(Person)
        assert [change.kind for change in page.changes] == [INSERT, UPDATE]
        first, second = page.changes
        assert (first.id, first.table, first.before, first.after) == (1, "person", None, ada)
        assert (second.before, second.after) == (ada, replace(ada, age=7))
        assert first.at.tzinfo is dt.timezone.utc and first.at <= second.at
        assert page.next == 3 and db.changes(Person, since=page.next).changes == []

        page = db.changes(Person, Square, limit=3)
        assert [change.id for change in page.changes] == [1, 2, 3] and page.next == 3
        page = db.changes(since=page.next)
        assert [(change.id, change.kind, change.table) for change in page.changes] == [
            (4, DELETE, "square")
        ]
        assert page.changes[0].before == {"row": 1, "letter": "A", "taken_by": None}
        assert page.changes[0].after is None and page.next == 4 == db.last_change()


def test_history(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person, Square)
        table = db.table(Person)
        assert kind_of(table.history, 1) is ErrorKind.SCHEMA
        db.track(Person, history=True)
        db.track(Square)
        table.insert_many([Person(0, "Ada"), Person(0, "Bea")])
        table.set(1, age=36)
        table.delete(1)
        history = table.history(1)
        assert [change.kind for change in history] == [INSERT, UPDATE, DELETE]
        assert [change.after and change.after.age for change in history] == [None, 36, None]
        assert history[2].before == Person(1, "Ada", 36)
        assert table.history(3) == []
        squares = db.table(Square)
        squares.insert(Square(1, "A"))
        squares.insert(Square(1, "B"))
        assert [change.after for change in squares.history((1, "B"))] == [Square(1, "B")]


def test_pruned_changes_are_an_error(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Person)
        db.track(Person)
        db.table(Person).insert_many(Person(0, name) for name in "abc")
        db.execute("DELETE FROM bobak_log_person WHERE seq <= 2")
        db.execute("UPDATE bobak_tracked SET pruned = 2")
        assert kind_of(db.changes, Person) is ErrorKind.NOT_FOUND
        assert [change.id for change in db.changes(Person, since=2).changes] == [3]


def test_a_column_that_was_added_later(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Person)
        db.track("person")
        db.table(Person).insert(Person(0, "Ada"))
        db.execute("ALTER TABLE person ADD COLUMN shoe INTEGER")
        db.tables()
        assert kind_of(db.changes, "person") is ErrorKind.SCHEMA
        db.track("person")
        # Changes made between the ALTER and the second call of track are unknown.
        assert kind_of(db.changes, "person") is ErrorKind.NOT_FOUND
        db.table(Person).insert(Person(0, "Bob"))
        (change,) = db.changes("person", since=2).changes
        assert change.after["name"] == "Bob" and change.after["shoe"] is None


def test_following(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        db.track(Person)
        table = db.table(Person)
        table.insert(Person(0, "before"))

        def write() -> None:
            for number in range(50):
                table.insert(Person(0, str(number)))

        # From the beginning, so that it does not matter when the other thread begins.
        writer = threading.Thread(target=write)
        writer.start()
        seen = []
        for change in db.follow(Person, since=1):
            seen.append((change.id, change.after and change.after.name))
            if len(seen) == 50:
                break
        writer.join()
        assert seen == [(number + 2, str(number)) for number in range(50)]


def test_following_is_awaited(url: str) -> None:
    async def work() -> None:
        async with await bobak.connect_async(url) as db:
            await db.create(Person)
            await db.track(Person)
            table = await db.table(Person)
            noted = asyncio.Event()

            async def follow() -> list[str]:
                names = []
                since = await db.last_change(Person)
                noted.set()
                async for change in db.follow(Person, since=since):
                    assert change.after is not None
                    names.append(change.after.name)
                    if len(names) == 3:
                        break
                return names

            await table.insert(Person(0, "before"))
            following = asyncio.create_task(follow())
            await noted.wait()
            for name in "abc":
                await table.insert(Person(0, name))
            assert await following == ["a", "b", "c"]
            assert [one.kind for one in await table.history(2)] == [INSERT]
            # A task that waits for changes can be cancelled, and the connection stays usable.
            waiting = asyncio.create_task(anext(db.follow(Person)))
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await table.count() == 4

    asyncio.run(work())
