"""Transports of asyncio. Received bytes go directly into the link: the server sends no more than it
has credit for, so reading never pauses."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Any, cast

from .._core.broken import Broken, ended, timed_out, unreachable
from .._core.error_tail import ErrorTail
from .._core.link import Link
from .._core.url import Target, Tcp, Unix

#: Seconds that a child process may take to end after its input has ended, before it is killed.
_END_TIMEOUT = 5.0
#: Seconds to wait for the exit status after a child process has closed its output.
_REASON_TIMEOUT = 0.5


#: The exception that cancels a call: the call does not wait for the server.
CANCELLED = asyncio.CancelledError


async def sleep(seconds: float) -> None:
    """Waits."""
    await asyncio.sleep(seconds)


class Stream(asyncio.SubprocessProtocol, asyncio.Protocol):
    """A connected stream of bytes, or the pipes of a child process."""

    def __init__(self, link: Link, words: ErrorTail | None = None) -> None:
        self._link = link
        #: The end of standard error of a child process.
        self._words = words
        self._transport: Any = None
        self._output: Any = None
        self._broken: Broken | None = None
        self._arrived: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._gone = asyncio.get_running_loop().create_future()

    @classmethod
    async def connect(cls, target: Target, link: Link) -> Stream:
        """Connects.

        Raises :class:`Broken`.
        """
        # Before Python 3.12 `wait_for` loses a cancellation that happens as the future completes.
        making = asyncio.ensure_future(cls._connect(target, link))
        try:
            await asyncio.wait({making}, timeout=target.connect_timeout)
            if not making.done():
                raise Broken(f"could not reach {target.place}: it did not answer in time")
        except BaseException:
            making.cancel()
            making.add_done_callback(_drop)
            raise
        try:
            return making.result()
        except OSError as error:
            raise unreachable(target.place, error) from error

    @classmethod
    async def _connect(cls, target: Target, link: Link) -> Stream:
        loop, transport = asyncio.get_running_loop(), target.transport
        if isinstance(transport, Tcp):
            tls = target.tls_context() if transport.tls else None
            made = await loop.create_connection(
                lambda: cls(link), transport.host, transport.port, ssl=tls
            )
            return made[1]
        if isinstance(transport, Unix):
            return (await loop.create_unix_connection(lambda: cls(link), transport.path))[1]
        child = await loop.subprocess_exec(
            lambda: cls(link, ErrorTail(transport.words[0])), *transport.words
        )
        return child[1]

    # Called by connections.

    def send(self, data: bytes) -> None:
        if self._broken is not None:
            raise self._broken
        self._output.write(data)

    async def drain(self, timeout: float | None) -> None:
        """Waits until the other end has received most of what was sent."""
        writable = self._writable
        if writable is None:
            return
        # If this task is cancelled, the future stays for the next one.
        await asyncio.wait({writable}, timeout=timeout)
        if not writable.done():
            self._time_out()
        if self._broken is not None:
            raise self._broken

    async def receive(self, timeout: float | None) -> None:
        """Waits until more bytes have been received."""
        loop = asyncio.get_running_loop()
        if self._broken is not None:
            raise self._broken
        self._arrived = loop.create_future()
        timer = None if timeout is None else loop.call_later(timeout, self._time_out)
        try:
            await self._arrived
        finally:
            self._arrived = None
            if timer is not None:
                timer.cancel()

    @property
    def is_alive(self) -> bool:
        return self._broken is None

    async def close(self) -> None:
        self._break(ended())
        if self._output is self._transport:
            self._transport.close()
            return
        # The program ends when its input ends.
        self._output.close()
        try:
            await asyncio.wait({self._gone}, timeout=_END_TIMEOUT)
            if not self._gone.done():
                self._transport.kill()
                await self._gone
        finally:
            self._transport.close()

    def drop(self) -> None:
        """Closes the connection without waiting."""
        self._break(ended())
        self._transport.close()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if isinstance(transport, asyncio.SubprocessTransport):
            self._output = transport.get_pipe_transport(0)
        else:
            self._output = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._link.feed(data)
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 2 or self._words is None:
            self.data_received(data)
            return
        # Standard error is copied to that of this process, and its end is stored.
        self._words.add(data)
        with suppress(OSError):
            os.write(2, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        # connection_lost follows when all pipes are closed and the exit status is known.
        if fd != 2:
            asyncio.get_running_loop().call_later(_REASON_TIMEOUT, self._report_end)

    def process_exited(self) -> None:
        if not self._gone.done():
            self._gone.set_result(None)

    def _report_end(self) -> None:
        if self._broken is None and self._words is not None:
            self._break(ended(self._words.tell(self._transport.get_returncode())))

    def connection_lost(self, exc: Exception | None) -> None:
        self._report_end()
        broken = ended() if exc is None else Broken(f"the connection to the server broke: {exc}")
        broken.__cause__ = exc
        self._break(broken)
        if not self._gone.done():
            self._gone.set_result(None)

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def _time_out(self) -> None:
        self._break(timed_out())

    def _break(self, broken: Broken) -> None:
        if self._broken is None:
            self._broken = broken
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_exception(self._broken)
        self.resume_writing()


def _drop(making: asyncio.Future[Stream]) -> None:
    """Closes a connection that is no longer needed."""
    if not making.cancelled() and making.exception() is None:
        making.result().drop()
