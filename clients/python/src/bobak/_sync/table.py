"""Tables, selections of their rows, and batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .._core import feed, frames
from .._core import table as ops
from .._core.batch import BatchWriter, Report
from .._core.calls import Call
from .._core.feed import Change
from .._core.query import Condition, Expression, Query, count
from .._core.table_plan import Plan
from .._errors import Error, ErrorKind
from .._wire.schema import TableSchema

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from .session import Session

R = TypeVar("R")
T = TypeVar("T")


class Selection(Generic[T]):
    """Some rows of a table, in some order: see :meth:`Table.where`."""

    def __init__(self, session: Session, plan: Plan, query: Query) -> None:
        self._session = session
        self._plan = plan
        self._query = query

    def where(self, *conditions: Condition) -> Selection[T]:
        """Only rows that keep all the conditions: ``where(col.age > 30)``."""
        return self._with(self._query.filtered(conditions))

    def order_by(self, *columns: str) -> Selection[T]:
        """In this order; ``"-age"`` descends. Rows that it leaves equal come by key."""
        return self._with(replace(self._query, order=(*self._query.order, *columns)))

    def limit(self, rows: int, offset: int = 0) -> Selection[T]:
        """At most so many rows, from ``offset`` on."""
        return self._with(replace(self._query, limit=rows, offset=offset))

    def select(self, *columns: str | Expression) -> Selection[tuple[Any, ...]]:
        """Some columns, or aggregates, as tuples: ``select("city", count())``."""
        expressions = tuple(
            Expression("column", one) if isinstance(one, str) else one for one in columns
        )
        query = replace(self._query, columns=expressions)
        return Selection(self._session, self._plan, query)

    def group_by(self, *columns: str) -> Selection[T]:
        """One row for each group, of what was selected."""
        return self._with(replace(self._query, group=columns))

    def all(self) -> list[T]:
        """All rows."""
        return self._session._run(ops.rows_of(self._plan, self._query))

    def __iter__(self) -> Iterator[T]:
        """The rows as they come, in constant memory; they are those of the first one's moment."""
        make = ops.maker(self._plan, self._query)
        for part in self._session._parts(ops.cursor_of(self._plan, self._query)):
            for record in make(part):
                yield record

    def first(self) -> T | None:
        """The first row, or None."""
        found = self.limit(1, self._query.offset).all()
        return found[0] if found else None

    def count(self) -> int:
        """How many rows there are."""
        return int(self.value(count()))

    def value(self, expression: Expression) -> Any:
        """One number about the rows: ``value(col.amount.sum())``."""
        return self._session._run(ops.value_of(self._plan, self._query, expression))

    def update(self, **values: Any) -> int:
        """Assigns columns of all of them, :func:`bobak.add` adding; gives their number."""
        return self._session._run(ops.set_where(self._plan, self._query, values))

    def delete(self) -> int:
        """Deletes all of them; gives their number."""
        return self._session._run(ops.delete_where(self._plan, self._query))

    def to_arrow(self) -> pyarrow.Table:
        """The rows as columns of pyarrow."""
        return frames.arrow_of(*self._columns())

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a frame of pandas."""
        return frames.pandas_of(*self._columns())

    def _columns(self) -> tuple[list[str], list[Any], list[Any]]:
        names = ops.result_names(self._plan, self._query)
        kinds = ops.result_types(self._plan, self._query)
        return names, kinds, self._session._run(ops.values_of(self._plan, self._query))

    def _with(self, query: Query) -> Selection[T]:
        return Selection(self._session, self._plan, query)


class Table(Generic[T]):
    """A table: its rows are records of a dataclass, or dicts."""

    def __init__(self, session: Session, plan: Plan) -> None:
        self._session = session
        self._plan = plan

    @property
    def schema(self) -> TableSchema:
        """The table as the server describes it."""
        return self._plan.schema

    def insert(self, record: T) -> Any:
        """Inserts a record, and gives its key.

        A key that is None, or that a dict leaves out, is made: by the engine, or as a UUID of
        version 7. Where the class says that its key can't be None (``id: int``), one of 0, or nil,
        is made. So it is by each call that may insert, ``upsert`` too. Creation and modification
        times are filled; the record is not touched.
        """
        return self._run(ops.insert(self._plan, record, "insert"))

    def insert_or_ignore(self, record: T) -> Any:
        """Inserts a record, unless its key or a unique value is there: then None."""
        return self._run(ops.insert(self._plan, record, "insert_or_ignore"))

    def insert_or_replace(self, record: T) -> Any:
        """Inserts a record; rows with its key or its unique values are deleted first."""
        return self._run(ops.insert(self._plan, record, "insert_or_replace"))

    def upsert(self, record: T) -> Any:
        """Inserts a record, or updates the one with its key; gives the key."""
        return self._run(ops.insert(self._plan, record, "upsert"))

    def update(self, record: T, *fields: str) -> None:
        """Overwrites the record with this one's key: all fields, or the named ones; by a dict
        those that it has.

        Raises ``NOT_FOUND`` where there is none, ``CONFLICT`` where its version differs.
        """
        self._run(ops.update(self._plan, record, fields or None))

    def set(self, key: Any, **values: Any) -> bool:
        """Assigns columns of the row with this key, in one step at the server; whether it is
        there. ``set(1, visits=bobak.add(1))``."""
        return self._run(ops.set_by_key(self._plan, key, values))

    def delete(self, key: Any) -> bool:
        """Deletes the row with this key; whether it was there. A key of several columns is a
        tuple, here and everywhere."""
        return self._run(ops.delete(self._plan, key))

    def get(self, key: Any) -> T | None:
        """The record with this key, or None."""
        found: T | None = self._run(ops.get(self._plan, key))
        return found

    def require(self, key: Any) -> T:
        """The record with this key; ``NOT_FOUND`` where there is none."""
        found: T = self._run(ops.require(self._plan, key))
        return found

    def get_many(self, keys: Iterable[Any]) -> list[T | None]:
        """The records with these keys, in their order; requests are sent ahead."""
        return self._run(ops.get_many(self._plan, keys))

    def history(self, key: Any) -> list[Change[T]]:
        """The changes of the record with this key, in their order, as far back as the feed goes;
        ``SCHEMA`` where the table is not tracked. ``track(…, history=True)`` makes it quick."""
        return self._run(feed.history(self._plan, key))

    def where(self, *conditions: Condition) -> Selection[T]:
        """Rows that keep all the conditions, or all: ``where(col.age > 30)``."""
        return Selection(self._session, self._plan, Query().filtered(conditions))

    def all(self) -> list[T]:
        """All records, by key."""
        return self.where().all()

    def __iter__(self) -> Iterator[T]:
        """All records by key, as they come, in constant memory."""
        return iter(self.where())

    def count(self) -> int:
        """How many records there are."""
        return self.where().count()

    def insert_many(
        self, records: Iterable[T], *, on_conflict: str = "fail", on_error: str = "stop"
    ) -> Report:
        """Inserts all records, or none; they are sent in parts as they come.

        ``on_conflict`` is ``fail``, ``ignore``, ``replace`` or ``update``; with
        ``on_error="continue"`` rows that the server refuses are left out, and reported; a value
        that can't be sent, of another type than its column, raises all the same.
        """
        verb = ops.verb_of(on_conflict)
        with self._session.batch(on_error=on_error) as batch:
            for record in records:
                batch._add(ops.add_new(self._plan, batch._writer, record, verb))
        return batch.report

    def update_many(self, records: Iterable[T], *, on_error: str = "stop") -> Report:
        """Overwrites all records that have these ones' keys, or none."""
        with self._session.batch(on_error=on_error) as batch:
            for record in records:
                batch.update(self, record)
        return batch.report

    def delete_many(self, keys: Iterable[Any]) -> Report:
        """Deletes the rows with these keys."""
        with self._session.batch() as batch:
            for key in keys:
                batch.delete(self, key)
        return batch.report

    def insert_frame(self, frame: Any, *, on_conflict: str = "fail") -> Report:
        """Inserts the rows of a frame of pandas, or of a table of pyarrow, by the names of their
        columns. A missing value is NULL, a key that is missing is made."""
        table = Table[Any](self._session, Plan(self._plan.schema, None))
        return table.insert_many(frames.rows_of(frame), on_conflict=on_conflict)

    def _run(self, call: Call[R]) -> R:
        return self._session._run(call)


class Batch:
    """Writes that are collected and sent in parts; made by ``batch()`` of a database."""

    def __init__(self, session: Session, on_error: str) -> None:
        if on_error not in ("stop", "continue"):
            raise Error(ErrorKind.CONFIG, f"on_error is stop or continue, not '{on_error}'")
        self._session = session
        self._writer = BatchWriter(session._link, stops=on_error == "stop")
        #: What became of the rows, once the ``with`` has ended.
        self.report = Report()

    def insert(self, table: Table[T], record: T) -> None:
        self._add(ops.add_new(table._plan, self._writer, record, "insert"))

    def upsert(self, table: Table[T], record: T) -> None:
        self._add(ops.add_new(table._plan, self._writer, record, "upsert"))

    def update(self, table: Table[T], record: T) -> None:
        self._add(ops.add_changed(table._plan, self._writer, record))

    def delete(self, table: Table[Any], key: Any) -> None:
        self._add(ops.add_deleted(table._plan, self._writer, key))

    def _add(self, is_full: bool) -> None:
        if is_full:
            self._session._run(Call(self._writer.send, writes=True))

    def _finish(self) -> None:
        self.report = self._session._run(Call(self._writer.finish, writes=True))

    def _abort(self) -> None:
        # Where the connection broke the server undoes it by itself, and what led here says more.
        with suppress(Error):
            self._session._run(Call(self._writer.abort, writes=True))
