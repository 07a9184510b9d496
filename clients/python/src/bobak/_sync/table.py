"""Tables, selections of their rows, and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .._core import blob, calls, feed, frames, plans
from .._core import table as ops
from .._core.batch import BatchWriter, Report
from .._core.calls import Call
from .._core.columns import OtherValues
from .._core.feed import Change
from .._core.page import Page, page_of
from .._core.query import (
    ColumnOfRows,
    Condition,
    Expression,
    Nearest,
    Query,
    col,
    column_of_rows,
    count,
    expressions_of,
    is_deleted,
    names_of,
    number_of,
    with_deleted,
)
from .._core.table_plan import Plan
from .._errors import Error, ErrorKind
from .._wire.schema import TableSchema, Type
from .blob import Blob
from .transport import CANCELLED

if TYPE_CHECKING:
    from datetime import datetime

    import pandas
    import pyarrow

    from .session import Session

R = TypeVar("R")
T = TypeVar("T")


class _OfTable:
    """A session, and the table that its calls use."""

    def __init__(self, session: Session, handle: ops.Handle) -> None:
        self._session = session
        self._handle = handle

    @property
    def _plan(self) -> Plan:
        return self._handle.plan

    def _run(self, make: Callable[[], Call[R]]) -> R:
        """Runs a call, and repeats it once with the new description of the table if another
        program has changed the table."""
        try:
            return self._session._run(make())
        except Error as error:
            if error.kind is not ErrorKind.SCHEMA or not self._look_again():
                raise
        return self._session._run(make())

    def _look_again(self) -> bool:
        # For example in a transaction that the error has ended.
        with suppress(Error):
            self._session.tables()
            return self._handle.look_again(self._session._known)
        return False


class Selection(_OfTable, Generic[T]):
    """Rows of a table, selected and ordered: see :meth:`Table.where`."""

    def __init__(self, session: Session, handle: ops.Handle, query: Query) -> None:
        super().__init__(session, handle)
        self._query = query

    def where(self, *conditions: Condition) -> Selection[T]:
        """Only rows that match all conditions: ``where(col.age > 30)``."""
        return self._with(self._query.filtered(conditions))

    def order_by(self, *columns: str) -> Selection[T]:
        """In this order; ``"-age"`` is descending. Equal rows are ordered by key."""
        order = (*self._query.order, *names_of(columns, "order_by"))
        return self._with(replace(self._query, order=order))

    def limit(self, rows: int, offset: int = 0) -> Selection[T]:
        """At most this number of rows, after skipping ``offset``."""
        limit, offset = number_of(rows, "a limit"), number_of(offset, "an offset")
        return self._with(replace(self._query, limit=limit, offset=offset))

    def with_deleted(self, column: str) -> Selection[T]:
        """Deleted rows, too, of a record whose deleted rows stay; ``column`` has the time of the
        deletion."""
        return self.where(with_deleted(column))

    def only_deleted(self, column: str) -> Selection[T]:
        """Deleted rows only: ``notes.where().only_deleted("deleted_at")``."""
        return self.where(is_deleted(column))

    def search(self, text: str) -> Selection[T]:
        """Rows whose texts have what is searched for, the best first unless there is an order:
        ``articles.where().search('fox OR "lazy dog"')``. The table needs a full-text search. The
        error is ``SYNTAX`` if the search cannot be read."""
        return self._with(replace(self._query, search=text))

    def nearest(
        self, column: str, to: Sequence[float], rows: int, *, metric: str = "cosine"
    ) -> Selection[T]:
        """At most so many rows whose vectors are nearest to one, the nearest first:
        ``documents.where(col.language == "en").nearest("embedding", wanted, 10)``. ``metric`` is
        ``"cosine"``, ``"euclidean"`` or ``"dot"``; ``select("id", bobak.distance())`` has the
        distances. Filters come before; there is no order."""
        nearest = Nearest(column, to, metric)
        limit = number_of(rows, "a number of rows")
        return self._with(replace(self._query, nearest=nearest, limit=limit))

    def for_update(
        self,
        *,
        no_wait: bool = False,
        skip_locked: bool = False,
        wait_at_most: float | None = None,
    ) -> Selection[T]:
        """Locks the rows until the transaction ends. Of rows that another transaction has locked:
        waits for them (at most ``wait_at_most`` seconds), fails with ``BUSY`` (``no_wait``), or
        leaves them out (``skip_locked``)."""
        lock: str | int = "skip_locked" if skip_locked else "no_wait" if no_wait else "wait"
        if wait_at_most is not None:
            lock = max(1, round(wait_at_most * 1000))
        return self._with(replace(self._query, lock=lock))

    def select(self, *columns: str | Expression) -> Selection[tuple[Any, ...]]:
        """Some columns, or aggregates, as tuples: ``select("city", count())``."""
        query = replace(self._query, columns=expressions_of(columns))
        return Selection(self._session, self._handle, query)

    def group_by(self, *columns: str) -> Selection[T]:
        """One row for each group."""
        return self._with(replace(self._query, group=names_of(columns, "group_by")))

    def column(self, name: str) -> ColumnOfRows:
        """A column of the rows that match, for a condition on another table:
        ``col.customer_id.is_in(customers.where(col.city == "Bern").column("id"))``."""
        return column_of_rows(self._plan, self._query, name)

    def all(self) -> list[T]:
        """All rows."""
        return self._run(lambda: ops.rows_of(self._plan, self._query))

    def __iter__(self) -> Iterator[T]:
        """The rows in constant memory, as of one moment."""
        make = ops.maker(self._plan, self._query)
        for _, part in self._session._parts(ops.cursor_of(self._plan, self._query)):
            for record in make(part):
                yield record

    def related(self, column: str, records: Sequence[Any], key: str) -> list[list[T]]:
        """For each record, the rows whose ``column`` equals its field ``key``: one query for all
        records. The limit and the offset apply to the rows of each record.

        ``lines.where().order_by("-amount").related("order_id", orders, "id")``
        """
        related = ops.Related(self._plan, self._query, column, records, key)
        query = related.query
        return related.groups(self._with(query).all() if query else [])

    def page(self, size: int, after: str | None = None) -> Page[T]:
        """At most ``size`` rows, after the page whose ``next`` is ``after``: in any order, at the
        same cost for each page. Rows that are inserted or deleted meanwhile neither repeat nor
        hide others.

        ``page = accounts.where().order_by("-balance").page(20, after=page.next)``
        """
        return self._run(lambda: page_of(self._plan, self._query, size, after))

    def first(self) -> T | None:
        """The first row, or None."""
        found = self.limit(1, self._query.offset).all()
        return found[0] if found else None

    def count(self) -> int:
        """The number of rows."""
        return int(self.value(count()))

    def explain(self) -> plans.QueryPlan:
        """How the engine would read the rows, and the indexes that would help. The query does not
        run. ``UNSUPPORTED`` if the engine has no plans."""
        return self._run(lambda: ops.explain(self._plan, self._query))

    def value(self, expression: Expression) -> Any:
        """One aggregate of the rows: ``value(col.amount.sum())``."""
        return self._run(lambda: ops.value_of(self._plan, self._query, expression))

    def update(self, **values: Any) -> int:
        """Assigns columns of all rows, or adds to them with :func:`bobak.add`; returns their
        number."""
        return self._run(lambda: ops.set_where(self._plan, self._query, values))

    def delete(self) -> int:
        """Deletes all rows, and returns their number."""
        return self._run(lambda: ops.delete_where(self._plan, self._query))

    def restore(self, column: str) -> int:
        """Restores the deleted rows, and returns their number."""
        return self.only_deleted(column).update(**{column: None})

    def purge(self, column: str, before: datetime) -> int:
        """Removes for good the rows that were deleted before a time, and returns their number."""
        return self.where(is_deleted(column), col[column] < before).delete()

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow: the server sends columns, so that no value becomes a
        Python object."""
        kinds = ops.column_types(self._plan, self._query)
        found = None if kinds is None else self._arrays(kinds)
        return frames.arrow_of(*self._columns()) if found is None else found

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas. With pyarrow, its columns are made of arrays."""
        kinds = ops.column_types(self._plan, self._query)
        if kinds is not None and frames.are_arrays_in_pandas(kinds):
            found = self._arrays(kinds)
            if found is not None:
                return frames.pandas_of_arrow(kinds, found)
        return frames.pandas_of(*self._columns())

    def _arrays(self, kinds: Sequence[Type]) -> pyarrow.Table | None:
        """The rows as a table of pyarrow, or ``None`` if a value is not of its column's type, as
        in files of other programs, or if the server is older: these are read one by one."""
        reader = frames.BlockReader(ops.result_names(self._plan, self._query), kinds)
        with suppress(OtherValues):
            batches = self._run(lambda: ops.blocks_of(self._plan, self._query, reader.batch))
            return None if batches is None else reader.table(batches)
        return None

    def _columns(self) -> tuple[list[str], list[Any], list[Any]]:
        names = ops.result_names(self._plan, self._query)
        kinds = ops.result_types(self._plan, self._query)
        return names, kinds, self._run(lambda: ops.values_of(self._plan, self._query))

    def _with(self, query: Query) -> Selection[T]:
        return Selection(self._session, self._handle, query)


class Table(_OfTable, Generic[T]):
    """A table: its rows are records of a dataclass, or dicts."""

    @property
    def schema(self) -> TableSchema:
        """The table as the server describes it."""
        return self._plan.schema

    def insert(self, record: T) -> Any:
        """Inserts a record, and returns its key. It sets the key, the time stamps and the version
        in the record, unless its class is frozen.

        A key that is None, or missing in a dict, is generated: by the engine, or as a UUID of
        version 7. If the key can't be None (``id: int``), 0 and the nil UUID request a new key.
        This holds for each call that may insert, also for ``upsert``.
        """
        return self._run(lambda: ops.insert(self._plan, record, "insert"))

    def insert_or_ignore(self, record: T) -> Any:
        """Inserts a record; returns None if its key or a unique value exists."""
        return self._run(lambda: ops.insert(self._plan, record, "insert_or_ignore"))

    def insert_or_replace(self, record: T) -> Any:
        """Inserts a record after deleting rows with its key or its unique values."""
        return self._run(lambda: ops.insert(self._plan, record, "insert_or_replace"))

    def upsert(self, record: T) -> Any:
        """Inserts a record, or updates the row with its key; returns the key. It raises the version
        without checking it: read the record again before you update it."""
        return self._run(lambda: ops.insert(self._plan, record, "upsert"))

    def upsert_on(self, record: T, *columns: str) -> Any:
        """Inserts a record, or updates the row with the same values in the columns of a unique
        index; returns its key, which an update keeps: ``upsert_on(user, "email")``.

        A key of several columns, or one that is neither an integer nor a UUID, is not returned by
        an update: read the record by its unique columns. Otherwise it is as :meth:`upsert`.
        """
        return self._run(lambda: ops.insert(self._plan, record, "upsert_on", columns))

    def update(self, record: T, *fields: str) -> None:
        """Overwrites the row with this record's key: all columns, or the named ones; of a dict
        those that it has. It sets the modification time and the new version in the record.

        Raises ``NOT_FOUND`` if there is no such row, and ``CONFLICT`` if its version differs.
        """
        self._run(lambda: ops.update(self._plan, record, fields or None))

    def set(self, key: Any, **values: Any) -> bool:
        """Assigns columns of the row with this key, in one step on the server; returns whether the
        row exists. ``set(1, visits=bobak.add(1))``."""
        return self._run(lambda: ops.set_by_key(self._plan, key, values))

    def delete(self, key: Any) -> bool:
        """Deletes the row with this key; returns whether it existed. A key of several columns is a
        tuple, here and in other calls. The version is not checked: see :meth:`delete_record`."""
        return self._run(lambda: ops.delete(self._plan, key))

    def delete_record(self, record: T) -> None:
        """Deletes the row with this record's key, if its version is the record's.

        Raises ``NOT_FOUND`` if there is no such row, and ``CONFLICT`` if its version differs.
        """
        self._run(lambda: ops.delete_record(self._plan, record))

    def get(self, key: Any) -> T | None:
        """The record with this key, or None."""
        found: T | None = self._run(lambda: ops.get(self._plan, key))
        return found

    def require(self, key: Any) -> T:
        """The record with this key; raises ``NOT_FOUND`` if there is none."""
        found: T = self._run(lambda: ops.require(self._plan, key))
        return found

    def get_many(self, keys: Iterable[Any]) -> list[T | None]:
        """The records with these keys, in their order. The requests are pipelined."""
        wanted = list(keys)
        return self._run(lambda: ops.get_many(self._plan, wanted))

    def history(self, key: Any) -> list[Change[T]]:
        """The changes of the record with this key, in their order, as far back as the log goes;
        ``SCHEMA`` if the table is not tracked. ``track(…, history=True)`` makes it fast."""
        return self._run(lambda: feed.history(self._plan, key))

    def open_blob(self, key: Any, column: str) -> Blob | None:
        """A column of bytes of the row with this key, to read it in parts; None if there is no such
        row, or if the value is NULL."""
        address = blob.Address.of(self._plan, key, column)
        first = self._session._run(blob.read_part(address, 0, blob.PART))
        if first is None or first.length is None:
            return None
        return Blob(self._session, address, first)

    def write_blob(
        self, key: Any, column: str, source: blob.Readable, length: int | None = None
    ) -> bool:
        """Replaces a column of bytes of the row with this key by what is read from a file, which is
        sent in parts; returns whether the row exists. Without ``length`` the file can seek.

        If the file fails, or has fewer or more bytes, the value stays as it was.
        """
        address = blob.Address.of(self._plan, key, column)
        writer = blob.ValueWriter(address, blob.length_of(source, length))
        with self._session._exclusive() as session:
            try:
                while part := source.read(blob.WRITTEN):
                    session._run(writer.add(part))
            except CANCELLED:
                with suppress(Error):
                    session._run(calls.abandon())
                raise
            except BaseException:
                with suppress(Error):
                    session._run(writer.abort())
                raise
            found: bool = session._run(writer.finish())
        return found

    def where(self, *conditions: Condition) -> Selection[T]:
        """Rows that match all conditions, or all rows: ``where(col.age > 30)``."""
        return Selection(self._session, self._handle, Query().filtered(conditions))

    def column(self, name: str) -> ColumnOfRows:
        """A column of all rows, for a condition: see :meth:`Selection.column`."""
        return self.where().column(name)

    def all(self) -> list[T]:
        """All records, ordered by key."""
        return self.where().all()

    def __iter__(self) -> Iterator[T]:
        """All records, ordered by key, in constant memory."""
        return iter(self.where())

    def count(self) -> int:
        """The number of records."""
        return self.where().count()

    def insert_many(
        self, records: Iterable[T], *, on_conflict: str = "fail", on_error: str = "stop"
    ) -> Report:
        """Inserts all records, or none. They are sent in parts, and do not change: the report has
        their keys.

        ``on_conflict`` is ``fail``, ``ignore``, ``replace`` or ``update``. With
        ``on_error="continue"`` rows that the server rejects are skipped and reported, but a value
        of a wrong type still raises.
        """
        verb = ops.verb_of(on_conflict)
        with self._session.batch(on_error=on_error) as batch:
            for record in records:
                batch._add(ops.add_new(self._plan, batch._writer, record, verb))
        return batch.report

    def update_many(self, records: Iterable[T], *, on_error: str = "stop") -> Report:
        """Overwrites the rows with the keys of these records, all or none."""
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
        """Inserts the rows of a data frame of pandas, or of a table of pyarrow, by column name. A
        missing value is NULL, and a missing key is generated. A text of pyarrow is the text of a
        document in a column of JSON."""
        schema = self._plan.schema
        table = Table[Any](self._session, ops.Handle(Plan(schema, None)))
        return table.insert_many(frames.rows_of(frame, schema), on_conflict=on_conflict)


class Batch:
    """Writes that are collected and sent in parts; begun by ``batch()`` of a database."""

    def __init__(self, session: Session, on_error: str) -> None:
        if on_error not in ("stop", "continue"):
            raise Error(ErrorKind.CONFIG, f"on_error is stop or continue, not '{on_error}'")
        self._session = session
        self._writer = BatchWriter(session._link, stops=on_error == "stop")
        #: The result, after the ``with`` has ended.
        self.report = Report()

    def insert(self, table: Table[T], record: T) -> None:
        self._add(ops.add_new(table._plan, self._writer, record, "insert"))

    def upsert(self, table: Table[T], record: T) -> None:
        self._add(ops.add_new(table._plan, self._writer, record, "upsert"))

    def upsert_on(self, table: Table[T], record: T, *columns: str) -> None:
        self._add(ops.add_new(table._plan, self._writer, record, "upsert_on", columns))

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
        # If the connection broke, the server undoes the batch, and the first error says more.
        with suppress(Error):
            self._session._run(Call(self._writer.abort, writes=True))

    def _abandon(self) -> None:
        """Cancels the batch without waiting for the server."""
        with suppress(Error):
            self._session._run(calls.abandon())
