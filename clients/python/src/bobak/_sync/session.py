"""Databases and transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, TypeVar, overload

from .._core import calls, feed, plans, results
from .._core import table as ops
from .._core.broken import Broken, Effect, lost, misuse
from .._core.calls import Call, Cursor, Row
from .._core.feed import Change, ChangePage
from .._core.link import Link, Steps
from .._core.rows import Rows
from .._core.sql_text import SqlParameters, bind
from .._core.table_plan import Plan
from .._core.url import Target, parse
from .._errors import Error
from .._wire.answer import ResultColumn
from .._wire.frame import Kind
from .._wire.schema import TableSchema
from .pool import Connection, Pool
from .table import Batch, Table
from .transport import CANCELLED, sleep

R = TypeVar("R")
T = TypeVar("T")


class Session:
    """Tables and SQL: of a database, in which each call is a transaction, or of a transaction."""

    def __init__(self, known: dict[str, TableSchema]) -> None:
        self._known = known

    @overload
    def table(self, record: type[T]) -> Table[T]: ...
    @overload
    def table(self, record: str) -> Table[dict[str, Any]]: ...
    def table(self, record: type[T] | str) -> Table[Any]:
        """The table of a dataclass, or the table with a name, whose rows are dicts."""
        plan = ops.plan_for(record, self._known)
        if plan is None:
            self.tables()
            plan = ops.plan_for(record, self._known)
        if plan is None:
            raise ops.no_table(record)
        return Table(self, ops.Handle(plan))

    def tables(self) -> list[TableSchema]:
        """The existing tables."""
        found = self._run(calls.tables())
        self._known.clear()
        self._known.update({schema.name.lower(): schema for schema in found})
        return found

    def verify_migrations(self, last: str) -> None:
        """Checks that the migration ``last`` is the last one that the database has.

        An :class:`Error` of the kind ``SCHEMA`` says that the database is older, and one of the
        kind ``CONFLICT`` that it is newer. Call it after connecting, with the newest migration that
        the program knows, such as ``"0012_names"``.
        """
        known = {schema.name for schema in self.tables()}
        if ops.MIGRATIONS not in known:
            raise ops.no_migrations(last)
        table = self.table(ops.MIGRATIONS)
        ops.verify_migrations(table.all(), last)

    def create(self, *classes: type) -> None:
        """Creates the missing tables of these dataclasses."""
        self.tables()
        call = ops.creation(classes, self._known)
        if call is not None:
            self._run(call)
            self.tables()

    def track(self, record: type | str, *, history: bool = False) -> None:
        """Records every change of a table in the table ``bobak_log_NAME``. With ``history`` the log
        has an index over the table's key."""
        self._run(ops.tracking("track", self._known_schema(record), history=history))

    def untrack(self, record: type | str) -> None:
        """Ends the recording, and drops the log."""
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
        commits, at most ``limit``; without names those of all tracked tables, as dicts.

        Raises ``NOT_FOUND`` if changes after that number were pruned, and ``SCHEMA`` for a table
        that is not tracked.
        """
        return self._run(feed.page(self._tracked_plans(records), since, limit))

    def last_change(self, *records: type | str) -> int:
        """The number of the last change of these tracked tables, or of all; 0 if there is none."""
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

    @overload
    def sql(
        self, text: str, parameters: SqlParameters = (), *, into: None = None
    ) -> Rows[tuple[Any, ...]]: ...
    @overload
    def sql(self, text: str, parameters: SqlParameters = (), *, into: type[T]) -> Rows[T]: ...
    def sql(
        self, text: str, parameters: SqlParameters = (), *, into: type[T] | None = None
    ) -> Rows[Any]:
        """All rows of an SQL statement, with ``?`` for each parameter, in order; or with ``:name``
        and a dict of values by name. A list, tuple, set or range in the place of a value has the
        values of ``IN (?)``, and may be empty.

        Rows are tuples of the values that tables return: ``bool``, ``Decimal``, ``datetime.date``
        and so on; or records of the dataclass ``into``, by column name. A value is converted by the
        type of its column in the result to that of its field: an amount of 5.00 is 5 as an ``int``
        and 5.0 as a ``float``. ``OUT_OF_RANGE`` says that the field has no such value, and
        ``MISMATCH`` that it has no values of this kind.
        """
        ask = calls.of_sql(*bind(text, parameters))
        columns, found = self._run(calls.query(ask, lambda rows: rows, names=True))
        names = [column.name for column in columns]
        if into is not None:
            return Rows(names, results.into_records(into, columns)(found))
        types = [column.type for column in columns]
        return Rows(names, results.into_tuples(columns)(found), types)

    def sql_iter(
        self, text: str, parameters: SqlParameters = ()
    ) -> Iterator[tuple[Any, ...]]:
        """As :meth:`sql`, in constant memory: the rows are fetched in blocks."""
        ask = calls.of_sql(*bind(text, parameters))
        for columns, part in self._parts(calls.open_cursor(ask, writes=True)):
            for row in results.into_tuples(columns)(part):
                yield row

    def explain(self, text: str, parameters: SqlParameters = ()) -> plans.QueryPlan:
        """How the engine would run an SQL statement, and the indexes that would help. It does not
        run. ``UNSUPPORTED`` if the engine has no plans."""
        return self._run(plans.explain(calls.of_sql(*bind(text, parameters))))

    def execute(self, text: str, parameters: SqlParameters = ()) -> int:
        """Runs an SQL statement, and returns the number of changed rows."""
        return self._run(calls.execute(*bind(text, parameters)))

    def execute_many(self, text: str, parameters: Iterable[SqlParameters]) -> int:
        """Runs a statement once for each list of parameters, all or none, and returns the number of
        changed rows. The requests are pipelined."""
        each = (bind(text, values) for values in parameters)
        with self._atomic() as session:
            changed: int = session._run(calls.execute_many(each))
        return changed

    @contextmanager
    def batch(self, *, on_error: str = "stop") -> Iterator[Batch]:
        """Many writes to one or several tables as one transaction: they are sent in parts, and at
        the end of the ``with`` either all rows are written or none.

        With ``on_error="continue"`` rows that the server rejects are skipped, and reported.
        """
        with self._exclusive() as session:
            batch = Batch(session, on_error)
            try:
                yield batch
            except CANCELLED:
                batch._abandon()
                raise
            except BaseException:
                batch._abort()
                raise
            batch._finish()

    def _parts(
        self, opening: Call[Cursor]
    ) -> Iterator[tuple[list[ResultColumn], list[Row]]]:
        """The columns of a cursor and its rows, in blocks."""
        with self._held() as session:
            cursor = session._run(opening)
            try:
                while part := session._run(calls.fetch(cursor)):
                    yield cursor.columns, part
            finally:
                # If the connection broke, the cursor is already closed.
                with suppress(Error):
                    session._run(calls.close_cursor(cursor))

    def _run(self, call: Call[R]) -> R:
        raise NotImplementedError

    @property
    def _link(self) -> Link:
        """The link of a session with its own connection."""
        raise NotImplementedError

    def _held(self) -> Any:
        """A session for a cursor: all its calls use one connection."""
        raise NotImplementedError

    def _exclusive(self) -> Any:
        """A session with its own connection."""
        raise NotImplementedError

    def _atomic(self) -> Any:
        """A session whose calls succeed together or not at all."""
        raise NotImplementedError


class Database(Session):
    """A database on a server, for any number of users. Opened by :func:`connect`."""

    def __init__(self, target: Target) -> None:
        super().__init__({})
        self._pool = Pool(target)
        #: The name of the database's engine: ``sqlite``, ``memory``, …
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
        """A transaction: committed at the end of the ``with``, and rolled back by an exception."""
        with self._exclusive(calls.control("begin")) as session:
            transaction = Transaction(session._connection, self._known)
            try:
                yield transaction
            except CANCELLED:
                # The pool rolls back, without waiting for the server.
                transaction._is_over = True
                raise
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
        """The changes of these tracked tables, or of all, as they happen: after the number
        ``since``, or from now on. It waits for more until the loop ends.

        A program that stores the ``id`` of the last change can continue after it at any time. The
        database is polled every few milliseconds, and ten times a second if there are no changes.
        """
        plans = self._tracked_plans(records)
        since = self._run(feed.last_id(plans)) if since is None else since
        pause = feed.POLL_INTERVAL
        while True:
            page = self._run(feed.page(plans, since, feed.PAGE))
            for change in page.changes:
                yield change
            since = page.next
            if not page.changes:
                sleep(pause)
            pause = feed.POLL_INTERVAL if page.changes else min(2 * pause, feed.LONGEST_INTERVAL)

    def flush(self) -> None:
        """Makes everything committed durable, if the engine defers that."""
        self._run(calls.done(Kind.FLUSH, b"", writes=False))

    def ping(self) -> None:
        """Checks that the server responds."""
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
        connection, rested = self._pool.take(writes=call.writes)
        try:
            connection, result = self._attempt(connection, rested, call)
            return result
        finally:
            self._pool.give(connection)

    @contextmanager
    def _exclusive(self, first: Call[None] | None = None) -> Iterator[_Held]:
        connection, rested = self._pool.take(writes=True)
        try:
            if first is not None:
                connection, _ = self._attempt(connection, rested, first)
            yield _Held(connection, self._known)
        finally:
            self._pool.give(connection)

    def _attempt(
        self, connection: Connection, rested: bool, call: Call[R]
    ) -> tuple[Connection, R]:
        """Runs a call. If a pooled connection turns out to be broken, a read is repeated once on a
        new one."""
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
        # Over pipes all share one connection.
        return _Shared(self) if self._pool.target.is_shared else self._exclusive()

    def _atomic(self) -> Any:
        return self.transaction()


class _Shared:
    """A session that several users share."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        return self._session

    def __exit__(self, *_: object) -> None: ...


class _Held(Session):
    """A session with its own connection."""

    def __init__(self, connection: Connection, known: dict[str, TableSchema]) -> None:
        super().__init__(known)
        self._connection = connection
        self._is_broken = False

    def _run(self, call: Call[R]) -> R:
        if self._is_broken:
            raise lost(self._effect(call))
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
        """A savepoint: an exception in the ``with`` undoes what was done in it."""
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
    """A transaction; begun by :meth:`Database.transaction`. Calls that begin at the same time
    run one after the other."""

    def __init__(self, connection: Connection, known: dict[str, TableSchema]) -> None:
        super().__init__(connection, known)
        self._is_over = False
        self._has_ended = False

    def rollback(self) -> None:
        """Rolls back and ends the transaction."""
        self._end("rollback")

    def commit(self) -> None:
        """Commits before the end of the ``with``."""
        self._end("commit")

    def _run(self, call: Call[R]) -> R:
        if self._is_over:
            raise misuse("the transaction has ended")

        def in_time(link: Link) -> Steps[R]:
            # It may have waited for its turn while the transaction ended.
            if self._has_ended:
                raise misuse("the transaction has ended")
            return (yield from call.steps(link))

        return super()._run(Call(in_time, call.writes))

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
        # Calls that begin from here on are too late. Those that wait for their turn come first.
        self._is_over = True
        if self._is_broken:
            if step == "commit":
                raise lost(Effect.TRANSACTION)
            return
        try:
            self._connection.run(self._last(step))
        except Broken as broken:
            self._is_broken = True
            self._connection.link.break_off()
            if step == "commit":
                raise broken.into_error(Effect.UNKNOWN) from broken
        except Error:
            # The transaction has ended anyway, and the first error says more.
            if step == "commit":
                raise

    def _last(self, step: str) -> Steps[None]:
        self._has_ended = True
        yield from calls.control(step).steps(self._connection.link)


def connect(url: str) -> Database:
    """Opens a database on a server.

    ``bobak://HOST:PORT/DATABASE?token=…`` (or ``user=…&password=…``, and ``tls=on``),
    ``bobak+unix:/PATH/TO/SOCKET``, or ``bobak+stdio:bobak serve app.db --stdio``, which starts the
    server as a child process.

    Raises :class:`Error`: ``UNREACHABLE``; ``DENIED`` if the server rejects the credentials;
    ``CONFIG`` for a wrong URL or an unknown database.
    """
    database = Database(parse(url))
    database._greet()
    return database
