"""The connections of a database: a pool, or one that all tasks share."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TypeVar

from .._core.broken import Broken, Effect
from .._core.link import Link, Steps
from .._core.url import Target
from .._errors import Error, ErrorKind
from .transport import Stream

R = TypeVar("R")


class Connection:
    """A link and what carries its bytes."""

    def __init__(self, target: Target) -> None:
        self.link = Link()
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

    async def run(self, steps: Steps[R]) -> R:
        """Runs an operation to its end. A task that is cancelled meanwhile leaves the connection
        whole: the server is told, and its answer passed over."""
        stream = self._stream
        assert stream is not None
        try:
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    self._send(stream)
                    return end.value  # type: ignore[no-any-return]
                except Error:
                    # What ends a failed batch, for one.
                    self._send(stream)
                    raise
                self._send(stream)
                await stream.drain()
                await stream.receive(self._target.timeout)
        except asyncio.CancelledError:
            steps.close()
            self.link.abandon()
            if stream.is_alive:
                self._send(stream)
            raise

    def undo(self) -> None:
        """Has the server undo a transaction that was not ended."""
        if self._stream is not None and self._stream.is_alive:
            self.link.undo()
            self._send(self._stream)

    def _send(self, stream: Stream) -> None:
        data = self.link.take()
        if data:
            stream.send(data)

    @property
    def is_usable(self) -> bool:
        return self._stream is not None and self._stream.is_alive and self.link.is_quiet

    async def close(self) -> None:
        self.link.break_off()
        if self._stream is not None:
            await self._stream.close()


class Places:
    """So many may be taken; who comes then waits for a turn.

    asyncio's own semaphore with ``wait_for`` around it makes a task for each call, and loses,
    before Python 3.12, a cancellation that comes at the moment of the turn.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[asyncio.Future[bool]] = deque()

    async def take(self, timeout: float) -> bool:
        """Takes a place; False where none came free in time."""
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
        """Gives a place back, to who waits longest."""
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
    """Hands connections out, and takes them back. Over pipes there is one."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._most = 1 if target.is_shared else target.connections
        self._rested: list[Connection] = []
        self._places = Places(self._most)
        self._is_closed = False
        #: Tasks that have a connection out, each with how many.
        self._holders: dict[object, int] = {}

    async def take(self) -> tuple[Connection, bool]:
        """A connection; whether it was used before, and may have broken unnoticed."""
        me = asyncio.current_task()
        if self._is_closed:
            raise Error(ErrorKind.MISUSE, "the database is closed")
        if self._holders.get(me, 0) >= self._most:
            raise Error(
                ErrorKind.BUSY,
                "this task holds every connection that there is, in a transaction, a batch or an "
                "iterator: it would wait for itself",
            )
        if not await self._places.take(self.target.timeout or 60.0):
            message = f"all {self._most} connections to the server are in use"
            raise Error(ErrorKind.BUSY, message)
        try:
            while self._rested:
                found = self._rested.pop()
                if found.is_usable:
                    self._count(me, 1)
                    return found, True
                await found.close()
            made = await self._connect()
        except BaseException:
            self._places.give()
            raise
        self._count(me, 1)
        return made, False

    async def replace(self, connection: Connection) -> Connection:
        """A new connection in the place of one that broke."""
        await connection.close()
        return await self._connect()

    async def give(self, connection: Connection) -> None:
        """Takes a connection back; one that is of no use any more is closed."""
        self._count(asyncio.current_task(), -1)
        connection.undo()
        try:
            if connection.is_usable and not self._is_closed:
                self._rested.append(connection)
            else:
                await connection.close()
        finally:
            self._places.give()

    async def close(self) -> None:
        self._is_closed = True
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

    def _count(self, holder: object, by: int) -> None:
        count = self._holders.get(holder, 0) + by
        if count > 0:
            self._holders[holder] = count
        else:
            # An iterator may be ended by another task than began it.
            self._holders.pop(holder, None)
