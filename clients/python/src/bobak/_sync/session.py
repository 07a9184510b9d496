"""What databases and transactions have in common, and what each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, TypeVar, overload

from .._core import calls, feed
from .._core import table as ops
from .._core.broken import Broken, Effect, lost, misuse
from .._core.calls import Call, Cursor, Row
from .._core.feed import Change, ChangePage
from .._core.link import Link
from .._core.rows import Rows
from .._core.table_plan import Plan
from .._core.url import Target, parse
from .._errors import Error
from .._wire.frame import Kind
from .._wire.schema import TableSchema
from .pool import Connection, Pool
from .table import Batch, Table
from .transport import nap

R = TypeVar("R")
T = TypeVar("T")


class Session:
    """Tables and SQL: in a database, each call for itself, or in a transaction."""

    def __init__(self, known: dict[str, TableSchema]) -> None:
        self._known = known

    @overload
    def table(self, record: type[T]) -> Table[T]: ...
    @overload
    def table(self, record: str) -> Table[dict[str, Any]]: ...
    def table(self, record: type[T] | str) -> Table[Any]:
        """The table of a dataclass, or one by its name, whose rows are dicts then."""
        plan = ops.plan_for(record, self._known)
        if plan is None:
            self.tables()
            plan = ops.plan_for(record, self._known)
        if plan is None:
            raise ops.no_table(record)
        return Table(self, plan)

    def tables(self) -> list[TableSchema]:
        """The tables that are there."""
        found = self._run(calls.tables())
        self._known.clear()
        self._known.update({schema.name.lower(): schema for schema in found})
        return found

    def create(self, *classes: type) -> None:
        """Makes the tables of these dataclasses that are not there."""
        self.tables()
        call = ops.creation(classes, self._known)
        if call is not None:
            self._run(call)
            self.tables()

    def track(self, record: type | str, *, history: bool = False) -> None:
        """Has the engine write down every change of a table, in the table ``bobak_log_NAME``;
        ``history``: that log is indexed by the table's key."""
        self._run(ops.tracking("track", self._known_schema(record), history=history))

    def untrack(self, record: type | str) -> None:
        """Ends what :meth:`track` began, and takes the log away."""
        self._run(ops.tracking("untrack", self._known_schema(record), history=False))

    @overload
    def changes(
        self, record: type[T], /, *, since: int = 0, limit: int = feed.PAGE
    ) -> ChangePage[T]: ...
    @overload
    def changes(
        self, *records: type | str, since: int = 0, limit: int = feed.PAGE
    ) -> ChangePage[Any]: ...
    def changes(
        self, *records: type | str, since: int = 0, limit: int = feed.PAGE
    ) -> ChangePage[Any]:
        """The changes of these tracked tables with numbers above ``since``, in the order of their
        commits, at most ``limit``; of all tracked tables, as dicts, where none is named.

        Raises ``NOT_FOUND`` where changes after that number were taken out of the feed, ``SCHEMA``
        for a table that is not tracked.
        """
        return self._run(feed.page(self._tracked_plans(records), since, limit))

    def last_change(self, *records: type | str) -> int:
        """The number of the last change of these tracked tables, or of all; 0 for none."""
        return self._run(feed.last_id(self._tracked_plans(records)))

    def _tracked_plans(self, records: Sequence[type | str]) -> list[Plan]:
        wanted: Sequence[Any] = records
        if not records:
            tracked = {name.lower() for name in self._run(feed.tracked())}
            wanted = [table.name for table in self.tables() if table.name.lower() in tracked]
        if not wanted:
            raise feed.no_feed()
        plans = []
        for record in wanted:
            table = self.table(record)
            plans.append(table._plan)
        return plans

    def _known_schema(self, record: type | str) -> TableSchema:
        name = ops.table_name(record)
        for schema in self.tables():
            if schema.name.lower() == name.lower():
                return schema
        raise ops.no_table(record)

    def sql(
        self, text: str, parameters: Sequence[Any] = (), *, into: type[T] | None = None
    ) -> Rows[Any]:
        """All rows of an SQL statement, with ``?`` for each parameter.

        Rows are tuples of stored values (money as ten-thousandths, dates as days), or records of
        the dataclass ``into``, by the names of the columns.
        """
        ask = calls.of_sql(text, ops.parameters(parameters))
        columns, found = self._run(calls.query(ask, lambda rows: rows, names=True))
        names = [column.name for column in columns]
        make = ops.into_records(into, names) if into is not None else _tuples
        return Rows(names, make(found))

    def sql_iter(
        self, text: str, parameters: Sequence[Any] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """As :meth:`sql`, a part at a time: ten million rows take no more memory than ten."""
        ask = calls.of_sql(text, ops.parameters(parameters))
        for part in self._parts(calls.open_cursor(ask, writes=True)):
            for row in part:
                yield tuple(row)

    def execute(self, text: str, parameters: Sequence[Any] = ()) -> int:
        """Runs an SQL statement whose rows are not wanted; gives the number of rows changed."""
        return self._run(calls.execute(text, ops.parameters(parameters)))

    def execute_many(self, text: str, parameters: Iterable[Sequence[Any]]) -> int:
        """Runs a statement once for each, all or none, without waiting for one before the next is
        sent; gives the number of rows changed."""
        each = ((text, ops.parameters(values)) for values in parameters)
        with self._atomic() as session:
            changed: int = session._run(calls.execute_many(each))
        return changed

    @contextmanager
    def batch(self, *, on_error: str = "stop") -> Iterator[Batch]:
        """Many writes to one or several tables as one: sent in parts as they come, and at the end
        of the ``with`` all there, or none.

        With ``on_error="continue"`` wrong rows are left out, and reported.
        """
        with self._exclusive() as session:
            batch = Batch(session, on_error)
            try:
                yield batch
            except BaseException:
                batch._abort()
                raise
            batch._finish()

    def _parts(self, opening: Call[Cursor]) -> Iterator[list[Row]]:
        """The rows of a cursor, as they come."""
        with self._held() as session:
            cursor = session._run(opening)
            try:
                while part := session._run(calls.fetch(cursor)):
                    yield part
            finally:
                # Where the connection broke the cursor is gone already.
                with suppress(Error):
                    session._run(calls.close_cursor(cursor))

    def _run(self, call: Call[R]) -> R:
        raise NotImplementedError

    @property
    def _link(self) -> Link:
        """The connection of a session that has one for itself."""
        raise NotImplementedError

    def _held(self) -> Any:
        """A session for a cursor, whose calls go over one connection."""
        raise NotImplementedError

    def _exclusive(self) -> Any:
        """A session whose calls follow each other on one connection."""
        raise NotImplementedError

    def _atomic(self) -> Any:
        """A session whose calls happen together or not at all."""
        raise NotImplementedError


class Database(Session):
    """A database on a server; many may use it at once. Made by :func:`connect`."""

    def __init__(self, target: Target) -> None:
        super().__init__({})
        self._pool = Pool(target)
        #: The engine that keeps the database: ``sqlite``, ``memory``, …
        self.engine = ""
        #: The server's program and version.
        self.server = ""

    def _greet(self) -> None:
        connection, _ = self._pool.take()
        self.engine = connection.link.welcome.engine
        self.server = connection.link.welcome.server
        self._pool.give(connection)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction: committed at the end of the ``with``, undone where it is left by an
        exception."""
        with self._exclusive(calls.control("begin")) as session:
            transaction = Transaction(session._connection, self._known)
            try:
                yield transaction
            except BaseException:
                transaction._end("rollback")
                raise
            transaction._end("commit")

    @overload
    def follow(
        self, record: type[T], /, *, since: int | None = None
    ) -> Iterator[Change[T]]: ...
    @overload
    def follow(
        self, *records: type | str, since: int | None = None
    ) -> Iterator[Change[Any]]: ...
    def follow(
        self, *records: type | str, since: int | None = None
    ) -> Iterator[Change[Any]]:
        """The changes of these tracked tables, or of all, as they happen: behind the number
        ``since``, or from now on; it waits for more until the loop is left.

        Whoever notes the ``id`` of the last change can go on behind it at any time. The database is
        looked at every few milliseconds, ten times a second where little happens.
        """
        plans = self._tracked_plans(records)
        since = self._run(feed.last_id(plans)) if since is None else since
        pause = feed.NAP
        while True:
            page = self._run(feed.page(plans, since, feed.PAGE))
            for change in page.changes:
                yield change
            since = page.next
            if not page.changes:
                nap(pause)
            pause = feed.NAP if page.changes else min(2 * pause, feed.LONGEST_NAP)

    def flush(self) -> None:
        """Makes all that was committed durable, where the engine has put that off."""
        self._run(calls.done(Kind.FLUSH, b"", writes=False))

    def ping(self) -> None:
        """Asks the server for a sign of life."""
        self._run(calls.done(Kind.PING, b"", writes=False))

    def close(self) -> None:
        """Closes the connections; a child process ends."""
        self._pool.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, call: Call[R]) -> R:
        connection, rested = self._pool.take()
        try:
            connection, result = self._attempt(connection, rested, call)
            return result
        finally:
            self._pool.give(connection)

    @contextmanager
    def _exclusive(self, first: Call[None] | None = None) -> Iterator[_Held]:
        connection, rested = self._pool.take()
        try:
            if first is not None:
                connection, _ = self._attempt(connection, rested, first)
            yield _Held(connection, self._known)
        finally:
            self._pool.give(connection)

    def _attempt(
        self, connection: Connection, rested: bool, call: Call[R]
    ) -> tuple[Connection, R]:
        """Runs a call; a read once more, on a new connection, where the one that rested in the
        pool had broken there."""
        try:
            return connection, connection.run(call.steps(connection.link))
        except Broken as broken:
            connection.link.break_off()
            if call.writes or not rested or broken.timeout or broken.garbled:
                effect = Effect.UNKNOWN if call.writes else Effect.NOTHING
                raise broken.into_error(effect) from broken
        fresh = self._pool.replace(connection)
        try:
            return fresh, fresh.run(call.steps(fresh.link))
        except BaseException as error:
            fresh.close()
            if isinstance(error, Broken):
                raise error.into_error(Effect.NOTHING) from error
            raise

    def _held(self) -> Any:
        # Over pipes a cursor takes no connection away from others.
        return _Shared(self) if self._pool.target.is_shared else self._exclusive()

    def _atomic(self) -> Any:
        return self.transaction()


class _Shared:
    """A session that is lent to several."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        return self._session

    def __exit__(self, *_: object) -> None: ...


class _Held(Session):
    """A session with a connection of its own."""

    def __init__(self, connection: Connection, known: dict[str, TableSchema]) -> None:
        super().__init__(known)
        self._connection = connection
        self._is_broken = False

    def _run(self, call: Call[R]) -> R:
        if self._is_broken:
            raise lost()
        try:
            return self._connection.run(call.steps(self._connection.link))
        except Broken as broken:
            self._is_broken = True
            self._connection.link.break_off()
            raise broken.into_error(self._effect(call)) from broken

    @property
    def _link(self) -> Link:
        return self._connection.link

    def _effect(self, call: Call[Any]) -> Effect:
        return Effect.UNKNOWN if call.writes else Effect.NOTHING

    def _held(self) -> Any:
        return _Shared(self)

    def _exclusive(self) -> Any:
        return _Shared(self)

    def _atomic(self) -> Any:
        return self.savepoint("bobak_many")

    @contextmanager
    def savepoint(self, name: str) -> Iterator[None]:
        """A mark: where the ``with`` is left by an exception, what was done in it is undone."""
        self._run(calls.control("savepoint", name))
        try:
            yield
        except BaseException:
            if not self._is_broken:
                self._run(calls.control("roll_back_to", name))
                self._run(calls.control("release", name))
            raise
        self._run(calls.control("release", name))


class Transaction(_Held):
    """A transaction, for one user at a time; made by :meth:`Database.transaction`."""

    def __init__(self, connection: Connection, known: dict[str, TableSchema]) -> None:
        super().__init__(connection, known)
        self._is_over = False

    def rollback(self) -> None:
        """Undoes all of it, and ends it."""
        self._end("rollback")

    def commit(self) -> None:
        """Ends it before its ``with`` does."""
        self._end("commit")

    def _run(self, call: Call[R]) -> R:
        if self._is_over:
            raise misuse("the transaction is over")
        return super()._run(call)

    def _effect(self, call: Call[Any]) -> Effect:
        return Effect.TRANSACTION

    @contextmanager
    def _atomic_block(self) -> Iterator[Transaction]:
        with self.savepoint("bobak_many"):
            yield self

    def _atomic(self) -> Any:
        return self._atomic_block()

    def _end(self, step: str) -> None:
        if self._is_over:
            return
        if self._is_broken:
            self._is_over = True
            if step == "commit":
                raise lost()
            return
        try:
            self._connection.run(calls.control(step).steps(self._connection.link))
        except Broken as broken:
            self._is_broken = True
            self._connection.link.break_off()
            if step == "commit":
                raise broken.into_error(Effect.UNKNOWN) from broken
        except Error:
            # The transaction is over all the same, and what led here says more.
            if step == "commit":
                raise
        finally:
            self._is_over = True


def connect(url: str) -> Database:
    """Opens a database on a server.

    ``bobak://HOST:PORT/DATABASE?token=…`` (or ``user=…&password=…``, and ``tls=on``),
    ``bobak+unix:/PATH/TO/SOCKET``, or ``bobak+stdio:bobak serve app.db --stdio``, which starts the
    server as a child process.

    Raises :class:`Error`: ``UNREACHABLE``; ``DENIED`` where the server does not let the user in;
    ``CONFIG`` for a URL or a database that is none.
    """
    database = Database(parse(url))
    database._greet()
    return database


def _tuples(found: list[Row]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in found]
