"""Rows that are related to records, with one query for all of them."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass

import pytest
from records import Person

import bobak
from bobak import ErrorKind, col
from bobak._core import table as ops
from bobak._core.query import Query
from bobak._core.record import schema_of
from bobak._core.table_plan import Plan


@dataclass
class Customer:
    id: int
    name: str


@dataclass
class Purchase:
    id: int
    customer_id: int | None = bobak.column(references=Customer)


@dataclass
class Item:
    id: int
    purchase_id: int = bobak.column(references=Purchase)
    amount: int = 0


@dataclass
class Comment:
    """Refers to a customer or a purchase."""

    id: int
    text: str
    target_table: str
    target_key: int


def test_references_to_a_record_of_any_type(url: str) -> None:
    with bobak.connect(url) as db:
        fill(db)
        db.create(Comment)
        comments = db.table(Comment)
        comments.insert_many(
            [
                Comment(0, "kind", "customer", 1),
                Comment(0, "late", "purchase", 10),
                Comment(0, "nice", "customer", 1),
                Comment(0, "gone", "purchase", 1),
            ]
        )
        people = db.table(Customer).all()
        of_people = comments.where(col.target_table == "customer").order_by("-text")
        found = of_people.related("target_key", people, "id")
        assert [[one.text for one in row] for row in found] == [["nice", "kind"], []]
        last = of_people.limit(1).related("target_key", people, "id")
        assert [[one.text for one in row] for row in last] == [["nice"], []]
        # In the other direction: the records of one type at a time.
        about = comments.where(col.target_table == "purchase").all()
        purchases = db.table(Purchase).where().related("id", about, "target_key")
        assert purchases == [[Purchase(10, 1)], []]


def fill(db: bobak.Database) -> None:
    db.create(Customer, Purchase, Item)
    db.table(Customer).insert_many([Customer(1, "Ada"), Customer(2, "Bob")])
    db.table(Purchase).insert_many([Purchase(10, 1), Purchase(11, 2), Purchase(12, None)])
    amounts = [(10, 3), (10, 5), (10, 4), (11, 1)]
    db.table(Item).insert_many(Item(0, purchase, amount) for purchase, amount in amounts)


def test_the_limit_is_sent_for_one_record() -> None:
    query, plan = Query(limit=2, offset=3), Plan(schema_of(Person), None)
    for column, keys, limit in [
        ("id", [7, None, 7], 5),
        ("id", [7, 8], None),
        ("name", ["a"], None),
    ]:
        records = [{"key": key} for key in keys]
        sent = ops.Related(plan, query, column, records, "key").query
        assert sent is not None
        assert (sent.limit, sent.offset) == (limit, 0)


def test_related_rows(url: str) -> None:
    with bobak.connect(url) as db:
        fill(db)
        purchases, items = db.table(Purchase).all(), db.table(Item)

        def amounts(selection: bobak.Selection[Item]) -> list[list[int]]:
            found = selection.related("purchase_id", purchases, "id")
            return [[item.amount for item in row] for row in found]

        assert amounts(items.where()) == [[3, 5, 4], [1], []]
        largest = items.where(col.amount > 1).order_by("-amount")
        assert amounts(largest) == [[5, 4, 3], [], []]
        assert amounts(largest.limit(1, offset=1)) == [[4], [], []]
        of_one = largest.limit(1, offset=1).related("purchase_id", purchases[:1], "id")
        assert [[item.amount for item in row] for row in of_one] == [[4]]
        # Along a reference: at most one row for each record.
        customers = db.table(Customer).where().related("id", purchases, "customer_id")
        assert customers == [[Customer(1, "Ada")], [Customer(2, "Bob")], []]
        # Nested: the items of the purchases of each customer.
        people = db.table(Customer).all()
        bought = db.table(Purchase).where().related("customer_id", people, "id")
        flat = [one for row in bought for one in row]
        counts = [len(row) for row in items.where().related("purchase_id", flat, "id")]
        assert counts == [3, 1]
        # Without records, and of records that are dicts.
        assert items.where().related("purchase_id", [], "id") == []
        assert items.where().related("purchase_id", [{"id": None}], "id") == [[]]
        rows = db.table("item").where().related("purchase_id", [{"id": 11}], "id")
        assert [row["amount"] for row in rows[0]] == [1]
        for call, kind in [
            (lambda: items.where().related("nothing", purchases, "id"), ErrorKind.SCHEMA),
            (lambda: items.where().related("purchase_id", purchases, "nothing"), ErrorKind.SCHEMA),
            (lambda: items.where().select("id").related("id", purchases, "id"), ErrorKind.MISUSE),
        ]:
            with pytest.raises(bobak.Error) as caught:
                call()
            assert caught.value.kind is kind


def test_conditions_on_rows_of_other_tables(url: str) -> None:
    with bobak.connect(url) as db:
        fill(db)
        customers, purchases, items = db.table(Customer), db.table(Purchase), db.table(Item)
        ada = customers.where(col.name == "Ada").column("id")
        of_ada = purchases.where(col.customer_id.is_in(ada))
        assert [one.id for one in of_ada.all()] == [10]
        assert [one.id for one in purchases.where(~col.customer_id.is_in(ada)).all()] == [11]
        # Through two references, among other conditions, and of all rows.
        bought = items.where(col.purchase_id.is_in(of_ada.column("id")), col.amount > 3)
        assert sorted(one.amount for one in bought.all()) == [4, 5]
        every = purchases.where(col.customer_id.is_in(customers.column("id")))
        assert every.count() == 2
        # Back along a reference: purchases with an item of more than 4.
        large = items.where(col.amount > 4).column("purchase_id")
        assert [one.id for one in purchases.where(col.id.is_in(large)).all()] == [10]
        assert bought.update(amount=bobak.add(10)) == 2
        assert items.where(col.purchase_id.is_in(of_ada.column("id"))).delete() == 3
        assert items.where().count() == 1
        for call, kind in [
            (lambda: customers.where().limit(1).column("id"), ErrorKind.MISUSE),
            (lambda: customers.where().select("id").column("id"), ErrorKind.MISUSE),
            (lambda: every.where(col.id.is_in(every.column("nothing"))).all(), ErrorKind.SCHEMA),
            (
                lambda: every.where(col.id.is_in(customers.where().column("name"))).all(),
                ErrorKind.MISMATCH,
            ),
        ]:
            with pytest.raises(bobak.Error) as caught:
                call()
            assert caught.value.kind is kind


def test_related_rows_in_async_code(url: str) -> None:
    with bobak.connect(url) as db:
        fill(db)

    async def load() -> list[list[Item]]:
        async with await bobak.connect_async(url) as db:
            purchases = await (await db.table(Purchase)).all()
            items = await db.table(Item)
            return await items.where().limit(1).related("purchase_id", purchases, "id")

    assert [len(row) for row in asyncio.run(load())] == [1, 1, 0]


@dataclass
class Basket:
    key: uuid.UUID | None = bobak.column(name="id", key=True, default=None)


@dataclass
class Piece:
    id: int
    basket: uuid.UUID = bobak.column(name="basket_id")


def test_fields_that_are_not_named_as_their_columns(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Basket, Piece)
        baskets, pieces = db.table(Basket), db.table(Piece)
        both = [Basket(), Basket()]
        for basket in both:
            baskets.insert(basket)
        piece = Piece(0, both[1].key)
        pieces.insert(piece)
        for key in ("key", "id"):
            assert pieces.where().related("basket_id", both, key) == [[], [piece]]
        assert baskets.where().related("id", [piece], "basket") == [[both[1]]]
        assert baskets.where().related("id", [piece], "basket_id") == [[both[1]]]
        # A UUID may be a text, in upper case too.
        texts = [{"id": str(both[1].key).upper()}, {"id": None}]
        assert pieces.where().related("basket_id", texts, "id") == [[piece], []]
        with pytest.raises(bobak.Error, match="no field 'other'"):
            pieces.where().related("basket_id", both, "other")
