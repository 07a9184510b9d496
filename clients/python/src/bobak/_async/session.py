"""What databases and transactions have in common, and what each is; their calls are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
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
from .table import AsyncBatch, AsyncTable
from .transport import nap

R = TypeVar("R")
T = TypeVar("T")


class AsyncSession:
    """Tables and SQL: in a database, each call for itself, or in a transaction."""

    def __init__(self, known: dict[str, TableSchema]) -> None:
        self._known = known

    @overload
    async def table(self, record: type[T]) -> AsyncTable[T]: ...
    @overload
    async def table(self, record: str) -> AsyncTable[dict[str, Any]]: ...
    async def table(self, record: type[T] | str) -> AsyncTable[Any]:
        """The table of a dataclass, or one by its name, whose rows are dicts then."""
        plan = ops.plan_for(record, self._known)
        if plan is None:
            await self.tables()
            plan = ops.plan_for(record, self._known)
        if plan is None:
            raise ops.no_table(record)
        return AsyncTable(self, plan)

    async def tables(self) -> list[TableSchema]:
        """The tables that are there."""
        found = await self._run(calls.tables())
        self._known.clear()
        self._known.update({schema.name.lower(): schema for schema in found})
        return found

    async def create(self, *classes: type) -> None:
        """Makes the tables of these dataclasses that are not there."""
        await self.tables()
        call = ops.creation(classes, self._known)
        if call is not None:
            await self._run(call)
            await self.tables()

    async def track(self, record: type | str, *, history: bool = False) -> None:
        """Has the engine write down every change of a table, in the table ``bobak_log_NAME``;
        ``history``: that log is indexed by the table's key."""
        await self._run(ops.tracking("track", await self._known_schema(record), history=history))

    async def untrack(self, record: type | str) -> None:
        """Ends what :meth:`track` began, and takes the log away."""
        await self._run(ops.tracking("untrack", await self._known_schema(record), history=False))

    @overload
    async def changes(
        self, record: type[T], /, *, since: int = 0, limit: int = feed.PAGE
    ) -> ChangePage[T]: ...
    @overload
    async def changes(
        self, *records: type | str, since: int = 0, limit: int = feed.PAGE
    ) -> ChangePage[Any]: ...
    async def changes(
        self, *records: type | str, since: int = 0, limit: int = feed.PAGE
    ) -> ChangePage[Any]:
        """The changes of these tracked tables with numbers above ``since``, in the order of their
        commits, at most ``limit``; of all tracked tables, as dicts, where none is named.

        Raises ``NOT_FOUND`` where changes after that number were taken out of the feed, ``SCHEMA``
        for a table that is not tracked.
        """
        return await self._run(feed.page(await self._tracked_plans(records), since, limit))

    async def last_change(self, *records: type | str) -> int:
        """The number of the last change of these tracked tables, or of all; 0 for none."""
        return await self._run(feed.last_id(await self._tracked_plans(records)))

    async def _tracked_plans(self, records: Sequence[type | str]) -> list[Plan]:
        wanted: Sequence[Any] = records
        if not records:
            tracked = {name.lower() for name in await self._run(feed.tracked())}
            wanted = [table.name for table in await self.tables() if table.name.lower() in tracked]
        if not wanted:
            raise feed.no_feed()
        plans = []
        for record in wanted:
            table = await self.table(record)
            plans.append(table._plan)
        return plans

    async def _known_schema(self, record: type | str) -> TableSchema:
        name = ops.table_name(record)
        for schema in await self.tables():
            if schema.name.lower() == name.lower():
                return schema
        raise ops.no_table(record)

    async def sql(
        self, text: str, parameters: Sequence[Any] = (), *, into: type[T] | None = None
    ) -> Rows[Any]:
        """All rows of an SQL statement, with ``?`` for each parameter.

        Rows are tuples of stored values (money as ten-thousandths, dates as days), or records of
        the dataclass ``into``, by the names of the columns.
        """
        ask = calls.of_sql(text, ops.parameters(parameters))
        columns, found = await self._run(calls.query(ask, lambda rows: rows, names=True))
        names = [column.name for column in columns]
        make = ops.into_records(into, names) if into is not None else _tuples
        return Rows(names, make(found))

    async def sql_iter(
        self, text: str, parameters: Sequence[Any] = ()
    ) -> AsyncIterator[tuple[Any, ...]]:
        """As :meth:`sql`, a part at a time: ten million rows take no more memory than ten."""
        ask = calls.of_sql(text, ops.parameters(parameters))
        async for part in self._parts(calls.open_cursor(ask, writes=True)):
            for row in part:
                yield tuple(row)

    async def execute(self, text: str, parameters: Sequence[Any] = ()) -> int:
        """Runs an SQL statement whose rows are not wanted; gives the number of rows changed."""
        return await self._run(calls.execute(text, ops.parameters(parameters)))

    async def execute_many(self, text: str, parameters: Iterable[Sequence[Any]]) -> int:
        """Runs a statement once for each, all or none, without waiting for one before the next is
        sent; gives the number of rows changed."""
        each = ((text, ops.parameters(values)) for values in parameters)
        async with self._atomic() as session:
            changed: int = await session._run(calls.execute_many(each))
        return changed

    @asynccontextmanager
    async def batch(self, *, on_error: str = "stop") -> AsyncIterator[AsyncBatch]:
        """Many writes to one or several tables as one: sent in parts as they come, and at the end
        of the ``with`` all there, or none.

        With ``on_error="continue"`` wrong rows are left out, and reported.
        """
        async with self._exclusive() as session:
            batch = AsyncBatch(session, on_error)
            try:
                yield batch
            except BaseException:
                await batch._abort()
                raise
            await batch._finish()

    async def _parts(self, opening: Call[Cursor]) -> AsyncIterator[list[Row]]:
        """The rows of a cursor, as they come."""
        async with self._held() as session:
            cursor = await session._run(opening)
            try:
                while part := await session._run(calls.fetch(cursor)):
                    yield part
            finally:
                # Where the connection broke the cursor is gone already.
                with suppress(Error):
                    await session._run(calls.close_cursor(cursor))

    async def _run(self, call: Call[R]) -> R:
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


class AsyncDatabase(AsyncSession):
    """A database on a server; many may use it at once. Made by :func:`connect_async`."""

    def __init__(self, target: Target) -> None:
        super().__init__({})
        self._pool = Pool(target)
        #: The engine that keeps the database: ``sqlite``, ``memory``, …
        self.engine = ""
        #: The server's program and version.
        self.server = ""

    async def _greet(self) -> None:
        connection, _ = await self._pool.take()
        self.engine = connection.link.welcome.engine
        self.server = connection.link.welcome.server
        await self._pool.give(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncTransaction]:
        """A transaction: committed at the end of the ``with``, undone where it is left by an
        exception."""
        async with self._exclusive(calls.control("begin")) as session:
            transaction = AsyncTransaction(session._connection, self._known)
            try:
                yield transaction
            except BaseException:
                await transaction._end("rollback")
                raise
            await transaction._end("commit")

    @overload
    def follow(
        self, record: type[T], /, *, since: int | None = None
    ) -> AsyncIterator[Change[T]]: ...
    @overload
    def follow(
        self, *records: type | str, since: int | None = None
    ) -> AsyncIterator[Change[Any]]: ...
    async def follow(
        self, *records: type | str, since: int | None = None
    ) -> AsyncIterator[Change[Any]]:
        """The changes of these tracked tables, or of all, as they happen: behind the number
        ``since``, or from now on; it waits for more until the loop is left.

        Whoever notes the ``id`` of the last change can go on behind it at any time. The database is
        looked at every few milliseconds, ten times a second where little happens.
        """
        plans = await self._tracked_plans(records)
        since = await self._run(feed.last_id(plans)) if since is None else since
        pause = feed.NAP
        while True:
            page = await self._run(feed.page(plans, since, feed.PAGE))
            for change in page.changes:
                yield change
            since = page.next
            if not page.changes:
                await nap(pause)
            pause = feed.NAP if page.changes else min(2 * pause, feed.LONGEST_NAP)

    async def flush(self) -> None:
        """Makes all that was committed durable, where the engine has put that off."""
        await self._run(calls.done(Kind.FLUSH, b"", writes=False))

    async def ping(self) -> None:
        """Asks the server for a sign of life."""
        await self._run(calls.done(Kind.PING, b"", writes=False))

    async def close(self) -> None:
        """Closes the connections; a child process ends."""
        await self._pool.close()

    async def __aenter__(self) -> AsyncDatabase:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, call: Call[R]) -> R:
        connection, rested = await self._pool.take()
        try:
            connection, result = await self._attempt(connection, rested, call)
            return result
        finally:
            await self._pool.give(connection)

    @asynccontextmanager
    async def _exclusive(self, first: Call[None] | None = None) -> AsyncIterator[_Held]:
        connection, rested = await self._pool.take()
        try:
            if first is not None:
                connection, _ = await self._attempt(connection, rested, first)
            yield _Held(connection, self._known)
        finally:
            await self._pool.give(connection)

    async def _attempt(
        self, connection: Connection, rested: bool, call: Call[R]
    ) -> tuple[Connection, R]:
        """Runs a call; a read once more, on a new connection, where the one that rested in the
        pool had broken there."""
        try:
            return connection, await connection.run(call.steps(connection.link))
        except Broken as broken:
            connection.link.break_off()
            if call.writes or not rested or broken.timeout or broken.garbled:
                effect = Effect.UNKNOWN if call.writes else Effect.NOTHING
                raise broken.into_error(effect) from broken
        fresh = await self._pool.replace(connection)
        try:
            return fresh, await fresh.run(call.steps(fresh.link))
        except BaseException as error:
            await fresh.close()
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

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def __aenter__(self) -> AsyncSession:
        return self._session

    async def __aexit__(self, *_: object) -> None: ...


class _Held(AsyncSession):
    """A session with a connection of its own."""

    def __init__(self, connection: Connection, known: dict[str, TableSchema]) -> None:
        super().__init__(known)
        self._connection = connection
        self._is_broken = False

    async def _run(self, call: Call[R]) -> R:
        if self._is_broken:
            raise lost()
        try:
            return await self._connection.run(call.steps(self._connection.link))
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

    @asynccontextmanager
    async def savepoint(self, name: str) -> AsyncIterator[None]:
        """A mark: where the ``with`` is left by an exception, what was done in it is undone."""
        await self._run(calls.control("savepoint", name))
        try:
            yield
        except BaseException:
            if not self._is_broken:
                await self._run(calls.control("roll_back_to", name))
                await self._run(calls.control("release", name))
            raise
        await self._run(calls.control("release", name))


class AsyncTransaction(_Held):
    """A transaction, for one user at a time; made by :meth:`AsyncDatabase.transaction`."""

    def __init__(self, connection: Connection, known: dict[str, TableSchema]) -> None:
        super().__init__(connection, known)
        self._is_over = False

    async def rollback(self) -> None:
        """Undoes all of it, and ends it."""
        await self._end("rollback")

    async def commit(self) -> None:
        """Ends it before its ``with`` does."""
        await self._end("commit")

    async def _run(self, call: Call[R]) -> R:
        if self._is_over:
            raise misuse("the transaction is over")
        return await super()._run(call)

    def _effect(self, call: Call[Any]) -> Effect:
        return Effect.TRANSACTION

    @asynccontextmanager
    async def _atomic_block(self) -> AsyncIterator[AsyncTransaction]:
        async with self.savepoint("bobak_many"):
            yield self

    def _atomic(self) -> Any:
        return self._atomic_block()

    async def _end(self, step: str) -> None:
        if self._is_over:
            return
        if self._is_broken:
            self._is_over = True
            if step == "commit":
                raise lost()
            return
        try:
            await self._connection.run(calls.control(step).steps(self._connection.link))
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


async def connect_async(url: str) -> AsyncDatabase:
    """Opens a database on a server.

    ``bobak://HOST:PORT/DATABASE?token=…`` (or ``user=…&password=…``, and ``tls=on``),
    ``bobak+unix:/PATH/TO/SOCKET``, or ``bobak+stdio:bobak serve app.db --stdio``, which starts the
    server as a child process.

    Raises :class:`Error`: ``UNREACHABLE``; ``DENIED`` where the server does not let the user in;
    ``CONFIG`` for a URL or a database that is none.
    """
    database = AsyncDatabase(parse(url))
    await database._greet()
    return database


def _tuples(found: list[Row]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in found]
