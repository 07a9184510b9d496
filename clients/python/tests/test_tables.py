"""Tables, queries, SQL, transactions and batches, over every transport."""

from __future__ import annotations

import datetime as dt
import subprocess
import threading
import uuid
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest
from records import Kinds, Log, Note, Person, Square, people
from serving import TOKEN, program, stdio_url, tcp

import bobak
from bobak import ErrorKind, add, col, count


def kind_of(call: object, *arguments: object, **named: object) -> ErrorKind:
    with pytest.raises(bobak.Error) as caught:
        call(*arguments, **named)  # type: ignore[operator]
    return caught.value.kind


def test_records(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        table = db.table(Person)
        ada = Person(0, "Ada", 36, Decimal("19.99"))
        assert table.insert(ada) == 1
        ada = replace(ada, id=1)
        assert table.get(1) == ada == table.require(1)
        assert table.get(2) is None and kind_of(table.require, 2) is ErrorKind.NOT_FOUND
        assert table.insert_or_ignore(ada) is None
        assert table.upsert(replace(ada, age=None)) == 1
        assert table.require(1).age is None
        table.update(ada)
        table.update(replace(ada, name="X", age=7), "age")
        assert table.require(1) == replace(ada, age=7)
        assert table.set(1, balance=add(Decimal("0.01")), name="Ädä") is True
        assert table.require(1) == Person(1, "Ädä", 7, Decimal(20))
        assert table.set(9, age=1) is False
        assert table.insert_or_replace(replace(ada, name="Nul\0")) == 1
        assert table.require(1).name == "Nul\0"
        assert table.delete(1) is True and table.delete(1) is False
        assert kind_of(table.update, ada) is ErrorKind.NOT_FOUND
        assert table.count() == 0


def test_migrations_are_verified(tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    table = '{"name":"t","key":["id"],"columns":[{"name":"id","type":"i64"}],"indexes":[]}'
    (folder / "0001_a.migration").write_text(
        f"bobak migration 1\nfirst\nup\ncreate table {table}\n"
    )
    (folder / "0002_b.migration").write_text(
        "bobak migration 1\nafter 0001_a\nup\nrename table t to u\n"
    )
    with bobak.connect(stdio_url(tmp_path)) as db:
        with pytest.raises(
            bobak.Error, match="older than the program: migrate it to 0001_a"
        ) as old:
            db.verify_migrations("0001_a")
        assert old.value.kind == ErrorKind.SCHEMA
    subprocess.run([program(), "migrate", "up", "app.db"], cwd=tmp_path, check=True)
    with bobak.connect(stdio_url(tmp_path)) as db:
        db.verify_migrations("0002_b")
        with pytest.raises(
            bobak.Error, match="newer than the program: it has migration 0002_b"
        ) as new:
            db.verify_migrations("0001_a")
        assert new.value.kind == ErrorKind.CONFLICT
        with pytest.raises(bobak.Error, match="older") as old:
            db.verify_migrations("0003_c")
        assert old.value.kind == ErrorKind.SCHEMA


def test_writes_keep_the_record_current(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Note, Person, Log)
        notes = db.table(Note)
        one = Note(None, "a")
        assert notes.insert(one) == one.id
        assert notes.require(one.id) == one and one.version == 0
        stale = replace(one)
        for text in ("b", "c"):
            one.text = text
            notes.update(one)
            assert notes.require(one.id) == one
        notes.update(one, "text")
        assert notes.require(one.id) == one and one.version == 3
        assert kind_of(notes.update, stale) is ErrorKind.CONFLICT
        before = replace(one)
        assert notes.insert_or_ignore(one) is None and one == before
        notes.insert_or_replace(one)
        assert notes.require(one.id) == one
        notes.upsert(one)
        assert notes.require(one.id).changed == one.changed
        new = Note(None, "d")
        notes.upsert(new)
        assert notes.require(new.id).text == "d"
        row = {"TEXT": "e"}
        rows = db.table("note")
        key = rows.insert(row)
        assert row == {"TEXT": "e", **{k: v for k, v in rows.require(key).items() if k != "text"}}
        rows.update(row)
        rows.update(row)
        assert row["version"] == rows.require(key)["version"] == 2
        person, log = Person(0, "a"), Log(None, "a")
        db.table(Person).insert(person)
        db.table(Log).insert(log)
        assert (person.id, log.id) == (1, 1)
        frozen = Frozen(0, "b")
        assert db.table(Frozen).insert(frozen) == 2 and frozen.id == 0


@dataclass(frozen=True)
class Frozen:
    id: int
    name: str
    balance: Decimal = Decimal(0)

    __table__ = "person"


def test_a_delete_checks_the_version(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Note, Square)
        notes, squares = db.table(Note), db.table(Square)
        one = Note(None, "a")
        notes.insert(one)
        stale = replace(one)
        notes.update(one)
        assert kind_of(notes.delete_record, stale) is ErrorKind.CONFLICT
        notes.delete_record(one)
        assert kind_of(notes.delete_record, one) is ErrorKind.NOT_FOUND
        square = Square(1, "A")
        squares.insert(square)
        squares.delete_record(square)
        assert kind_of(squares.delete_record, square) is ErrorKind.NOT_FOUND
        rows = db.table("note")
        row = {"text": "b"}
        rows.insert(row)
        rows.delete_record(row)
        assert notes.count() == 0


def test_upserts_on_unique_columns(url: str) -> None:
    @dataclass
    class Member:
        id: int
        email: str = bobak.column(unique=True)
        name: str = ""

    @dataclass
    class Badge:
        id: uuid.UUID | None
        code: str = bobak.column(unique=True)
        text: str = ""

    with bobak.connect(url) as db:
        db.create(Member, Badge)
        members, badges = db.table(Member), db.table(Badge)
        assert members.upsert_on(Member(0, "a", "Ada"), "email") == 1
        eve = Member(70, "a", "Eve")
        assert members.upsert_on(eve, "email") == 1 and eve.id == 1
        assert members.all() == [eve]
        assert kind_of(members.upsert_on, eve, "name") is ErrorKind.SCHEMA
        with db.batch() as batch:
            batch.upsert_on(members, Member(0, "b", "Bob"), "email")
            batch.upsert_on(members, Member(0, "a", "Una"), "email")
        assert (batch.report.inserted, batch.report.changed) == (1, 1)
        assert list(batch.report.keys()) == [2, 1]
        first, second = Badge(None, "x"), Badge(None, "x", "y")
        assert badges.upsert_on(first, "code") == badges.upsert_on(second, "code") == second.id
        assert badges.all() == [second] and first.id == second.id


@dataclass
class Item:
    id: int
    name: str


@pytest.mark.parametrize("main", ["app.db", "memory:"])
def test_sql_over_attached_databases(tmp_path: Path, main: str) -> None:
    stock = tcp(tmp_path, "stock.db")
    with bobak.connect(f"bobak://{stock.place}/?token={TOKEN}") as db:
        db.create(Item)
        db.table(Item).insert(Item(0, "spade"))
    stock.stop()
    server = tcp(tmp_path, f"main={main}", "--attach", "stock=stock.db")
    with bobak.connect(f"bobak://{server.place}/?token={TOKEN}") as db:
        db.create(Person)
        db.table(Person).insert(Person(0, "Ada"))
        join = "SELECT p.name, i.name FROM person p JOIN stock.item i ON i.id = p.id"
        assert db.sql(join) == [("Ada", "spade")]
        assert db.execute("UPDATE stock.item SET name = ? WHERE id = ?", ["hoe", 1]) == 1
        with db.transaction() as transaction:
            assert transaction.sql(join) == [("Ada", "hoe")]
    server.stop()


def test_keys_of_0(url: str) -> None:
    """If a key can be missing, 0 is an ordinary key."""
    with bobak.connect(url) as db:
        db.create(Log, Person, Note)
        logs = db.table(Log)
        assert logs.insert(Log(0, "a")) == 0
        found = logs.require(0)
        assert logs.upsert(replace(found, line="b")) == 0 and logs.all() == [Log(0, "b")]
        assert logs.upsert(Log(None, "c")) == 1
        logs.insert_many([Log(0, "d"), Log(None, "e")], on_conflict="update")
        assert [(one.id, one.line) for one in logs.all()] == [(0, "d"), (1, "c"), (2, "e")]
        rows = db.table("log")
        assert rows.upsert({"id": 0, "line": "f"}) == 0 and rows.upsert({"line": "g"}) == 3
        assert rows.insert({"id": None, "line": "h"}) == 4
        with db.batch() as batch:
            batch.upsert(logs, Log(0, "i"))
        assert [one.line for one in logs.all()] == ["i", "c", "e", "g", "h"]
        # An int cannot be missing: 0 requests a new key in each call that may insert.
        people = db.table(Person)
        assert people.insert(Person(0, "a")) == 1 and people.upsert(Person(0, "b")) == 2
        assert db.table("person").insert({"id": 0, "name": "c", "balance": 0}) == 0
        people.update(replace(people.require(0), name="d"))
        assert [one.id for one in people.all()] == [0, 1, 2] and people.require(0).name == "d"
        nil = uuid.UUID(int=0)
        assert db.table(Note).insert(Note(nil, "a")) == nil
        assert db.table(Note).insert(Note(None, "b")) != nil


def test_a_dict_updates_what_it_has(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person, Note)
        table = db.table("person")
        key = table.insert({"name": "a", "age": 7, "balance": Decimal(3)})
        table.update({"id": key, "NAME": "b"})
        rows = [{"id": key, "age": 8}, {"id": key, "balance": Decimal(4)}, {"id": key, "name": "c"}]
        assert table.update_many(rows).changed == 3
        assert db.table(Person).require(key) == Person(key, "c", 8, Decimal(4))
        table.update({"id": key, "age": None})
        assert table.require(key)["age"] is None
        table.update({"id": key})
        assert kind_of(table.update, {"id": 9}) is ErrorKind.NOT_FOUND
        assert kind_of(table.update, {"id": key, "nothing": 1}) is ErrorKind.SCHEMA
        assert kind_of(table.update, Person(key, "x")) is ErrorKind.MISMATCH
        notes = db.table("note")
        note = notes.require(notes.insert({"text": "a"}))
        notes.update({"id": note["id"], "version": 0, "text": "b"})
        later = notes.require(note["id"])
        assert (later["text"], later["version"], later["made"]) == ("b", 1, note["made"])
        assert later["changed"] > note["changed"]
        assert kind_of(notes.update, note) is ErrorKind.CONFLICT
        # Without the version that was read, a concurrent change cannot be excluded.
        assert kind_of(notes.update, {"id": note["id"], "text": "c"}) is ErrorKind.CONFLICT


def test_parameters_come_in_order(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        for wrong in ({"b": 1}, "x", b"x", {1}):
            assert kind_of(db.sql, "SELECT :a", wrong) is ErrorKind.MISUSE
            assert kind_of(db.execute, "SELECT :a", wrong) is ErrorKind.MISUSE
            assert kind_of(db.execute_many, "SELECT :a", [wrong]) is ErrorKind.MISUSE
        assert db.sql("SELECT ?1, ?2, ?1", ("a", 2)) == [("a", 2, "a")]


def test_a_wrong_row_says_where(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        table = db.table(Person)
        with pytest.raises(bobak.Error) as caught:
            table.insert(Person(0, "x" * 41))
        error = caught.value
        assert (error.kind, error.table, error.column) == (ErrorKind.TOO_LONG, "person", "name")
        with pytest.raises(bobak.Error) as caught:
            table.insert_many([Person(1, "a"), Person(2, "b"), Person(2, "c")])
        error = caught.value
        assert (error.kind, error.row, error.code) == (ErrorKind.DUPLICATE, 2, 1555)
        assert "row 2" in str(error) and not error.is_retryable
        assert table.count() == 0
        wrong = [
            (Person(0, "a", 1 << 63), ErrorKind.OUT_OF_RANGE),
            (Person(0, "a", "x"), ErrorKind.MISMATCH),  # type: ignore[arg-type]
            (Person(0, "a", balance=0.1), ErrorKind.MISMATCH),  # type: ignore[arg-type]
            (Person(0, "a", balance=Decimal("0.00001")), ErrorKind.MISMATCH),
            (Person(0, "\ud800"), ErrorKind.MISMATCH),
            (Person(0, None), ErrorKind.CONSTRAINT),  # type: ignore[arg-type]
        ]
        places = ["age", "age", "balance", "balance", "name", "name"]
        for (record, kind), column in zip(wrong, places):
            with pytest.raises(bobak.Error) as caught:
                table.insert(record)
            error = caught.value
            assert (error.kind, error.table, error.column) == (kind, "person", column), record
            with pytest.raises(bobak.Error) as caught:
                table.insert_many([Person(0, "a"), record])
            error = caught.value
            assert (error.kind, error.column, error.row) == (kind, column, 1), record
        for other in ({"name": "a"}, Square(1, "a"), None):
            assert kind_of(table.insert, other) is ErrorKind.MISMATCH
            assert kind_of(table.update_many, [other]) is ErrorKind.MISMATCH
        assert table.insert(Person(0, "still there")) == 1


def test_every_type(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Kinds)
        table = db.table(Kinds)
        aware = dt.timezone(dt.timedelta(hours=2))
        full = Kinds(
            id=1 << 62,
            yes=True,
            small=255,
            real=5e-324,
            raw=b"\0\xff",
            key=uuid.uuid4(),
            money=Decimal("-922337203685477.5808"),
            day=dt.date.max,
            clock=dt.time.max,
            local=dt.datetime.min,
            instant=dt.datetime(2024, 2, 29, 12, 0, 0, 1, aware),
            document={"a": [1, None, "é"]},
            day_text=dt.date(1815, 12, 10),
            instant_text=dt.datetime(2024, 2, 29, 12, 0, 0, 1, aware),
        )
        assert table.insert(full) == 1 << 62
        assert table.get(1 << 62) == full
        found = db.sql("SELECT day_text, instant_text, money FROM kinds")
        assert found == [("1815-12-10", "2024-02-29T10:00:00.000001Z", full.money)]
        assert found.columns == ["day_text", "instant_text", "money"]
        assert table.where(col.day_text < dt.date(1900, 1, 1)).count() == 1
        assert db.table("kinds").get(1 << 62)["instant"] == full.instant


def test_stamps_and_versions(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Note, Square)
        notes = db.table(Note)
        key = notes.insert(Note(None, "a"))
        assert isinstance(key, uuid.UUID) and key.version == 7
        note = notes.require(key)
        assert note.made == note.changed and note.version == 0
        now = dt.datetime.now(dt.timezone.utc)
        assert note.made is not None and abs(now - note.made) < dt.timedelta(minutes=5)
        notes.update(replace(note, text="b"))
        assert kind_of(notes.update, replace(note, text="c")) is ErrorKind.CONFLICT
        later = notes.require(key)
        assert (later.version, later.text, later.made) == (1, "b", note.made)
        report = notes.insert_many(Note(None, str(n)) for n in range(3))
        keys = list(report.keys())
        assert [one.text for one in notes.get_many(keys) if one] == ["0", "1", "2"]
        assert keys == sorted(keys)  # type: ignore[type-var]
        squares = db.table(Square)
        assert squares.insert(Square(3, "C")) == (3, "C")
        assert squares.set((3, "C"), taken_by="Ada")
        assert squares.get((3, "C")) == Square(3, "C", "Ada")
        assert kind_of(squares.get, 3) is ErrorKind.MISUSE


def test_queries(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        table = db.table(Person)
        table.insert_many(people(1_000))
        old = table.where(col.age > 80)
        assert old.count() == len(old.all()) == 99
        assert [one.id for one in old.order_by("-age", "name").limit(2)] == [180, 270]
        assert old.limit(1, 1).first() == old.all()[1]
        either = (col.name == "P 7") | col.name.like("P 99_") & ~(col.age == None)  # noqa: E711
        assert table.where(either).count() == 10
        assert table.where(col.age.is_in([1, None])).count() == 12
        assert table.where(col.name.starts_with("P 1"), col.age != None).count() == 110  # noqa: E711
        assert table.where(col.id == col.age).count() == 0
        assert old.value(col.balance.sum()) == sum(one.balance for one in old.all())
        assert table.where(col.age > 500).value(col.balance.sum()) is None
        grouped = table.where(col.age < 3).select("age", count(), col.balance.max())
        assert grouped.group_by("age").all() == [
            (1, 12, Decimal("9.91")),
            (2, 12, Decimal("9.92")),
        ]
        assert table.where(col.age == 1).update(age=add(1)) == 12
        assert table.where(col.age == 2).delete() == 24
        assert table.where().select("name").order_by("-id").first() == ("P 999",)
        assert kind_of(table.where(col.nothing == 1).all) is ErrorKind.SCHEMA
        assert kind_of(old.limit(1).delete) is ErrorKind.MISUSE
        with pytest.raises(TypeError):
            bool(col.age > 1)


def test_sql(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        many = db.execute_many(
            "INSERT INTO person (name, age, balance) VALUES (?, ?, ?)",
            ((f"P {n}", n, Decimal(n)) for n in range(600)),
        )
        assert many == 600
        for _ in range(3):
            found = db.sql("SELECT count(*), max(balance) FROM person WHERE age < ?", [10])
            assert found == [(10, Decimal(9))]
        moments = (dt.date(2024, 2, 29), Decimal("1.25"), uuid.UUID(int=5))
        assert db.sql("SELECT ?, ?, ?", moments) == [moments]
        rich = db.sql_iter(
            "SELECT balance * 2 FROM person WHERE balance > 298.5 AND age < ?", [300]
        )
        assert list(rich) == [(Decimal(598),)]
        two = db.sql("SELECT * FROM person WHERE age < ? ORDER BY id", (2,), into=Person)
        assert list(two) == [Person(1, "P 0", 0, Decimal(0)), Person(2, "P 1", 1, Decimal(1))]
        assert db.execute("UPDATE person SET age = NULL WHERE age >= ?", (300,)) == 300
        assert kind_of(db.sql, "SELEC 1") is ErrorKind.SYNTAX
        with pytest.raises(bobak.Error) as caught:
            db.execute_many("INSERT INTO person VALUES (?, 'x', 0, 0)", [(700,), (700,), (701,)])
        assert (caught.value.kind, caught.value.row) == (ErrorKind.DUPLICATE, 1)
        assert db.sql("SELECT count(*) FROM person").dicts() == [{"count(*)": 600}]
        assert list(db.sql("SELECT 1 a, 2 a")) == [(1, 2)]
        with pytest.raises(bobak.Error) as caught:
            db.sql("SELECT 1 a, 2 a").dicts()
        assert caught.value.kind is ErrorKind.MISUSE
        with pytest.raises(bobak.Error) as caught:
            db.sql("SELECT *, 'b' AS NAME FROM person", into=Person)
        assert caught.value.kind is ErrorKind.SCHEMA


def test_changes_are_recorded(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        db.track(Person, history=True)
        key = db.table(Person).insert(Person(0, "Ada"))
        db.table(Person).delete(key)
        log = db.sql("SELECT verb, new_name FROM bobak_log_person ORDER BY seq")
        assert list(log) == [(1, "Ada"), (3, None)]
        db.untrack("person")
        assert kind_of(db.sql, "SELECT * FROM bobak_log_person") is ErrorKind.SCHEMA
        assert kind_of(db.track, "nobody") is ErrorKind.SCHEMA


def test_transactions(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        with db.transaction() as transaction:
            table = transaction.table(Person)
            assert table.insert(Person(0, "a")) == 1
            with pytest.raises(ZeroDivisionError), transaction.savepoint("s"):
                table.insert(Person(0, "b"))
                raise ZeroDivisionError
            assert kind_of(table.insert, Person(1, "c")) is ErrorKind.DUPLICATE
            table.insert_many(people(10))
            assert kind_of(table.insert_many, [Person(1, "d")]) is ErrorKind.DUPLICATE
            # An iterator continues during writes.
            for one in table:
                table.set(one.id, age=5)
        assert kind_of(table.count) is ErrorKind.MISUSE
        with pytest.raises(ZeroDivisionError), db.transaction() as transaction:
            transaction.table(Person).where().delete()
            raise ZeroDivisionError
        with db.transaction() as transaction:
            transaction.execute("DELETE FROM person")
            transaction.rollback()
        assert db.table(Person).where(col.age == 5).count() == 11


def test_large_batches_and_iterators(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person, Square)
        table, squares = db.table(Person), db.table(Square)
        report = table.insert_many(people(30_000))
        assert (report.rows, report.inserted) == (30_000, 30_000)
        assert list(report.keys()) == list(range(1, 30_001))
        seen = 0
        for number, one in enumerate(table, 1):
            assert one.id == number
            seen += 1
        assert seen == 30_000
        for one in table.where(col.id > 5):
            assert one.id == 6
            break
        assert db.table(Person).get_many([1, 99_999, 3])[1] is None
        with db.batch(on_error="continue") as batch:
            for place in range(20_000):
                batch.update(table, Person(place + 1, "new"))
                batch.insert(squares, Square(place % 19_000, "A"))
            batch.delete(table, 30_000)
        assert len(batch.report.errors) == 1_000
        assert batch.report.errors[0].row == 38_001
        assert (batch.report.changed, squares.count(), table.count()) == (20_001, 19_000, 29_999)

        # The first error undoes everything, also earlier parts.
        def wrong() -> object:
            yield from people(30_000)
            yield Person(1, "there")

        assert kind_of(table.insert_many, wrong()) is ErrorKind.DUPLICATE

        def interrupted() -> object:
            yield from people(30_000)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            table.insert_many(interrupted())  # type: ignore[arg-type]
        assert table.count() == 29_999
        report = table.delete_many(range(1, 11))
        assert report.changed == 10
        report = table.insert_many([Person(50, "x"), Person(0, "y")], on_conflict="ignore")
        assert (report.ignored, report.inserted) == (1, 1)
        report = table.update_many([Person(50, "z")])
        assert report.changed == 1 and table.require(50).name == "z"


def test_tables_without_classes(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        db.create(Person)
        table = db.table("person")
        assert [column.name for column in table.schema.columns] == ["id", "name", "age", "balance"]
        assert table.schema.indexes[0].name == "person_age_name"
        key = table.insert({"name": "Ada", "balance": "1.5"})
        found = table.get(key)
        assert found == {"id": 1, "name": "Ada", "age": None, "balance": Decimal("1.5")}
        assert kind_of(table.insert, {"nothing": 1}) is ErrorKind.SCHEMA
        assert kind_of(db.table, "nothing") is ErrorKind.SCHEMA
        assert kind_of(db.table, Square) is ErrorKind.SCHEMA
        assert db.engine == "sqlite" and db.server.startswith("bobak ")
        db.flush()
        db.ping()


def test_threads_share_a_database(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Person)
        table = db.table(Person)

        def work() -> None:
            for _ in range(20):
                table.insert(Person(0, "x"))
                with db.transaction() as transaction:
                    transaction.table(Person).insert(Person(0, "y"))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert table.count() == 160
