"""The connections of a database: a pool, or one connection that all threads share."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TypeVar

from .._core.broken import Broken, Effect, busy, misuse
from .._core.link import Link, Steps
from .._core.url import Target
from .._errors import Error, ErrorKind
from . import transport

R = TypeVar("R")

#: Seconds after which an idle connection is tested before it is used; before a write it always is.
_RESTED = 0.2


class Connection:
    """A link, and the transport of its bytes."""

    def __init__(self, target: Target) -> None:
        self.link = Link()
        #: The thread that has it.
        self.holder = 0
        #: Whether a parent process opened it.
        self.is_inherited = False
        # Threads that use one transaction take turns.
        self._turn = threading.Lock()
        self._caller: int | None = None
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
        _connections.add(self)

    def run(self, steps: Steps[R]) -> R:
        """Runs an operation to its end, after those that other threads have begun."""
        me = threading.get_ident()
        if self.is_inherited:
            raise misuse("a transaction or an iterator cannot be used by a forked process")
        if self._caller == me:
            raise misuse(
                "what a call iterates over has made another call in the same transaction: make a "
                "list of it first"
            )
        with self._turn:
            self._caller = me
            try:
                return self._run(steps)
            finally:
                self._caller = None

    def _run(self, steps: Steps[R]) -> R:
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

    def is_usable(self, writes: bool) -> bool:
        # A write on a connection that the server has closed would be `UNKNOWN`.
        fresh = not writes and time.monotonic() - self._used < _RESTED
        return self.link.is_idle and (fresh or self._transport.is_alive())

    def close(self) -> None:
        self._transport.close()

    def disown(self) -> None:
        """In a forked process: leaves the connection to the parent."""
        self.is_inherited = True
        self._transport.disown()


class Pool:
    """A connection pool. Over pipes it has one connection."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._most = 1 if target.is_shared else target.connections
        self._closed = False
        self.forget()
        _pools.add(self)

    def forget(self) -> None:
        """Begins without connections, in a forked process too."""
        self._rested: list[Connection] = []
        self._open = 0
        self._changed = threading.Condition()
        #: The number of connections that each thread has.
        self._holders: dict[int, int] = {}

    def take(self, *, writes: bool = False) -> tuple[Connection, bool]:
        """A connection, and whether it was used before: then it may have broken unnoticed."""
        me = threading.get_ident()
        with self._changed:
            deadline = time.monotonic() + (self.target.timeout or 60.0)
            while True:
                if self._closed:
                    raise Error(ErrorKind.MISUSE, "the database is closed")
                while self._rested:
                    found = self._rested.pop()
                    if found.is_usable(writes):
                        self._hold(found, me)
                        return found, True
                    found.close()
                    self._open -= 1
                if self._open < self._most:
                    self._open += 1
                    self._count(me, 1)
                    break
                if self._holders.get(me, 0) >= self._most:
                    raise busy("thread")
                if not self._changed.wait(deadline - time.monotonic()):
                    message = f"all {self._most} connections to the server are in use"
                    raise Error(ErrorKind.BUSY, message)
        try:
            opened = self._connect()
        except BaseException:
            self._lose(me)
            raise
        opened.holder = me
        return opened, False

    def replace(self, connection: Connection) -> Connection:
        """Replaces a broken connection."""
        connection.close()
        opened = self._connect()
        opened.holder = connection.holder
        return opened

    def give(self, connection: Connection) -> None:
        """Returns a connection to the pool, or closes it if it has outstanding requests. The thread
        may be another one than that which has taken it."""
        if connection.is_inherited:
            return
        connection.rest()
        if not connection.link.is_idle or connection.link.may_be_inside or self._closed:
            connection.close()
            self._lose(connection.holder)
            return
        with self._changed:
            self._count(connection.holder, -1)
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

    def _hold(self, connection: Connection, holder: int) -> None:
        connection.holder = holder
        self._count(holder, 1)

    def _lose(self, holder: int) -> None:
        with self._changed:
            self._count(holder, -1)
            self._open -= 1
            self._changed.notify()

    def _count(self, holder: int, by: int) -> None:
        count = self._holders.get(holder, 0) + by
        if count > 0:
            self._holders[holder] = count
        else:
            self._holders.pop(holder, None)


_connections: weakref.WeakSet[Connection] = weakref.WeakSet()
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _after_fork() -> None:
    """Parent and child would mix their requests on one connection: the child opens its own."""
    for pool in list(_pools):
        pool.forget()
    for connection in list(_connections):
        connection.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
