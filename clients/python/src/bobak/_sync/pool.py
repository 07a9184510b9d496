"""The connections of a database: a pool, or one connection that all threads share."""

from __future__ import annotations

import threading
import time
from typing import TypeVar

from .._core.broken import Broken, Effect
from .._core.link import Link, Steps
from .._core.url import Target
from .._errors import Error, ErrorKind
from . import transport

R = TypeVar("R")

#: Seconds after which an idle connection is tested before it is used.
_RESTED = 0.2


class Connection:
    """A link, and the transport of its bytes."""

    def __init__(self, target: Target) -> None:
        self.link = Link()
        self._transport = transport.connect(target)
        self._used = time.monotonic()
        try:
            self.run(self.link.greet(target.hello()))
        except Broken as broken:
            self.close()
            raise self.link.explain(broken) from broken
        except BaseException:
            self.close()
            raise

    def run(self, steps: Steps[R]) -> R:
        """Runs an operation to its end."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                self._send()
                return end.value  # type: ignore[no-any-return]
            except Error:
                # For example the end of a failed batch.
                self._send()
                raise
            self._send()
            self._transport.receive(self.link)

    def _send(self) -> None:
        data = self.link.take()
        if data:
            self._transport.send(data)

    def rest(self) -> None:
        self._used = time.monotonic()

    def is_usable(self) -> bool:
        fresh = time.monotonic() - self._used < _RESTED
        return self.link.is_idle and (fresh or self._transport.is_alive())

    def close(self) -> None:
        self._transport.close()


class Pool:
    """A connection pool. Over pipes it has one connection."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._most = 1 if target.is_shared else target.connections
        self._rested: list[Connection] = []
        self._open = 0
        self._closed = False
        self._changed = threading.Condition()
        #: The number of connections that each thread uses.
        self._holders: dict[int, int] = {}

    def take(self) -> tuple[Connection, bool]:
        """A connection, and whether it was used before: then it may have broken unnoticed."""
        me = threading.get_ident()
        with self._changed:
            deadline = time.monotonic() + (self.target.timeout or 60.0)
            while True:
                if self._closed:
                    raise Error(ErrorKind.MISUSE, "the database is closed")
                while self._rested:
                    found = self._rested.pop()
                    if found.is_usable():
                        self._count(me, 1)
                        return found, True
                    found.close()
                    self._open -= 1
                if self._open < self._most:
                    self._open += 1
                    self._count(me, 1)
                    break
                if self._holders.get(me, 0) >= self._most:
                    raise Error(
                        ErrorKind.BUSY,
                        "this thread holds every connection that there is, in a transaction, a "
                        "batch or an iterator: it would wait for itself",
                    )
                if not self._changed.wait(deadline - time.monotonic()):
                    message = f"all {self._most} connections to the server are in use"
                    raise Error(ErrorKind.BUSY, message)
        try:
            return self._connect(), False
        except BaseException:
            self._lose()
            raise

    def replace(self, connection: Connection) -> Connection:
        """Replaces a broken connection."""
        connection.close()
        return self._connect()

    def give(self, connection: Connection) -> None:
        """Returns a connection to the pool, or closes it if it has outstanding requests."""
        connection.rest()
        if not connection.link.is_idle or connection.link.may_be_inside or self._closed:
            connection.close()
            self._lose()
            return
        with self._changed:
            self._count(threading.get_ident(), -1)
            self._rested.append(connection)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            rested, self._rested = self._rested, []
            self._open -= len(rested)
            self._changed.notify_all()
        for connection in rested:
            connection.close()

    def _connect(self) -> Connection:
        try:
            return Connection(self.target)
        except Broken as broken:
            raise broken.into_error(Effect.NOTHING) from broken

    def _lose(self) -> None:
        with self._changed:
            self._count(threading.get_ident(), -1)
            self._open -= 1
            self._changed.notify()

    def _count(self, holder: int, by: int) -> None:
        count = self._holders.get(holder, 0) + by
        if count > 0:
            self._holders[holder] = count
        else:
            # Another thread may end an iterator.
            self._holders.pop(holder, None)
