"""The connections of a database: a pool, or one connection that all tasks share."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections import deque
from typing import TypeVar

from .._core.broken import Broken, Effect, busy, misuse
from .._core.link import Link, Steps
from .._core.url import Target
from .._errors import Error, ErrorKind
from .transport import Stream

R = TypeVar("R")

#: How many times a task yields to the event loop before its call fails with BUSY: other tasks may
#: be closing its iterators.
_TURNS = 10


class Connection:
    """A link, and the stream that transports its bytes."""

    def __init__(self, target: Target) -> None:
        self.link = Link()
        #: The task that has it.
        self.holder: object = None
        #: Whether a parent process opened it.
        self.is_inherited = False
        # Tasks that use one transaction take turns.
        self._turn = asyncio.Lock()
        self._target = target
        self._stream: Stream | None = None

    async def open(self) -> None:
        self._stream = await Stream.connect(self._target, self.link)
        try:
            await self.run(self.link.greet(self._target.hello()))
        except Broken as broken:
            await self.close()
            raise self.link.explain(broken) from broken
        except BaseException:
            await self.close()
            raise
        _connections.add(self)

    async def run(self, steps: Steps[R]) -> R:
        """Runs an operation to its end, after those that other tasks have begun. If the task is
        cancelled, the connection stays usable: it cancels the request, and skips the response."""
        if self.is_inherited:
            raise misuse("a transaction or an iterator cannot be used by a forked process")
        async with self._turn:
            return await self._run(steps)

    async def _run(self, steps: Steps[R]) -> R:
        stream = self._stream
        assert stream is not None
        try:
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    self._send(stream)
                    if self.link.is_sending:
                        # The parts of a long request are not collected in memory.
                        await stream.drain(self._target.timeout)
                    return end.value  # type: ignore[no-any-return]
                except Error:
                    # For example the end of a failed batch.
                    self._send(stream)
                    raise
                self._send(stream)
                await stream.drain(self._target.timeout)
                await stream.receive(self._target.timeout)
        except asyncio.CancelledError:
            steps.close()
            self.link.abandon()
            if stream.is_alive:
                self._send(stream)
            raise

    def undo(self) -> None:
        """Rolls back a transaction that was not ended."""
        if self._stream is not None and self._stream.is_alive:
            self.link.undo()
            self._send(self._stream)

    def _send(self, stream: Stream) -> None:
        data = self.link.take()
        if data:
            stream.send(data)

    @property
    def is_usable(self) -> bool:
        return self._stream is not None and self._stream.is_alive and self.link.is_reusable

    async def close(self) -> None:
        self.link.break_off()
        if self._stream is not None:
            await self._stream.close()


class FairSemaphore:
    """A semaphore that serves waiters in order.

    asyncio's own semaphore with ``wait_for`` makes a task for each call, and before Python 3.12
    loses a cancellation that happens at the moment of the release.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[bool]] = deque()

    async def take(self, timeout: float) -> bool:
        """Acquires a place; False if none was released in time."""
        if self._free > 0:
            self._free -= 1
            return True
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(turn)
        timer = loop.call_later(timeout, _end, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.give()
            raise
        finally:
            timer.cancel()

    def give(self) -> None:
        """Releases a place, to the waiter that waits longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(True)
                return
        self._free += 1


def _end(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)


class Pool:
    """A connection pool. Over pipes it has one connection."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._most = 1 if target.is_shared else target.connections
        self._is_closed = False
        self.forget()
        _pools.add(self)

    def forget(self) -> None:
        """Begins without connections, in a forked process too."""
        self._rested: list[Connection] = []
        self._limit = FairSemaphore(self._most)
        #: The number of connections that each task has.
        self._holders: dict[object, int] = {}
        #: The event loop of the connections.
        self._loop: asyncio.AbstractEventLoop | None = None

    async def take(self, *, writes: bool = False) -> tuple[Connection, bool]:
        """A connection, and whether it was used before: then it may have broken unnoticed."""
        me = asyncio.current_task()
        if self._is_closed:
            raise misuse("the database is closed")
        self._check_loop()
        for _ in range(_TURNS):
            if self._holders.get(me, 0) < self._most:
                break
            # After a `break` the event loop closes the iterator in another task.
            await asyncio.sleep(0)
        else:
            raise busy("task")
        if not await self._limit.take(self.target.timeout or 60.0):
            message = f"all {self._most} connections to the server are in use"
            raise Error(ErrorKind.BUSY, message)
        try:
            while self._rested:
                found = self._rested.pop()
                if found.is_usable:
                    self._hold(found, me)
                    return found, True
                await found.close()
            opened = await self._connect()
        except BaseException:
            self._limit.give()
            raise
        self._hold(opened, me)
        return opened, False

    async def replace(self, connection: Connection) -> Connection:
        """Replaces a broken connection."""
        await connection.close()
        opened = await self._connect()
        opened.holder = connection.holder
        return opened

    async def give(self, connection: Connection) -> None:
        """Returns a connection to the pool, or closes it if it is broken. The task may be another
        one than that which has taken it."""
        if connection.is_inherited:
            return
        self._count(connection.holder, -1)
        connection.holder = None
        connection.undo()
        try:
            if connection.is_usable and not self._is_closed:
                self._rested.append(connection)
            else:
                await connection.close()
        finally:
            self._limit.give()

    async def close(self) -> None:
        self._is_closed = True
        if self._rested:
            self._check_loop()
        rested, self._rested = self._rested, []
        for connection in rested:
            await connection.close()

    async def _connect(self) -> Connection:
        connection = Connection(self.target)
        try:
            await connection.open()
        except Broken as broken:
            raise broken.into_error(Effect.NOTHING) from broken
        return connection

    def _check_loop(self) -> None:
        """Rejects calls in another event loop than that of the connections."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise misuse(
                "the database was opened in another event loop: open one in each event loop, with "
                "connect_async"
            )

    def _hold(self, connection: Connection, holder: object) -> None:
        connection.holder = holder
        self._count(holder, 1)

    def _count(self, holder: object, by: int) -> None:
        count = self._holders.get(holder, 0) + by
        if count > 0:
            self._holders[holder] = count
        else:
            self._holders.pop(holder, None)


_connections: weakref.WeakSet[Connection] = weakref.WeakSet()
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
#: Connections of a parent process, whose sockets are not closed here.
_inherited: list[Connection] = []


def _after_fork() -> None:
    """Parent and child would mix their requests on one connection: the child opens its own."""
    for pool in list(_pools):
        pool.forget()
    for connection in list(_connections):
        connection.is_inherited = True
        _inherited.append(connection)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
