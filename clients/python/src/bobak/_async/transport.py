"""What carries the bytes: asyncio's transports. What comes goes straight into the link; a server
sends no more than it has credit for, so nothing needs to be held back."""

from __future__ import annotations

import asyncio
import os
import ssl
from contextlib import suppress
from typing import Any, cast

from .._core.broken import Broken, ended, timed_out, unreachable
from .._core.last_words import LastWords
from .._core.link import Link
from .._core.url import Target, Tcp, Unix

#: How long a child process may take to end after its input has ended, before it is killed.
_PATIENCE = 5.0
#: How long one that has closed its output may take to end, and to say why.
_FAREWELL = 0.5


async def nap(seconds: float) -> None:
    """Waits for so long."""
    await asyncio.sleep(seconds)


class Stream(asyncio.SubprocessProtocol, asyncio.Protocol):
    """A connected stream of bytes, or the pipes of a child process."""

    def __init__(self, link: Link, words: LastWords | None = None) -> None:
        self._link = link
        #: Those of a child process.
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
        # Not by `wait_for`: before Python 3.12 it loses a cancellation that comes as it is done.
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
        loop, door = asyncio.get_running_loop(), target.door
        if isinstance(door, Tcp):
            tls = ssl.create_default_context(cafile=target.ca) if door.tls else None
            made = await loop.create_connection(lambda: cls(link), door.host, door.port, ssl=tls)
            return made[1]
        if isinstance(door, Unix):
            return (await loop.create_unix_connection(lambda: cls(link), door.path))[1]
        child = await loop.subprocess_exec(lambda: cls(link, LastWords(door.words[0])), *door.words)
        return child[1]

    # What a connection does.

    def send(self, data: bytes) -> None:
        if self._broken is not None:
            raise self._broken
        self._output.write(data)

    async def drain(self) -> None:
        """Waits until the other end has taken most of what was sent."""
        if self._writable is not None:
            await self._writable

    async def receive(self, timeout: float | None) -> None:
        """Waits until something has come since the last time."""
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
        # The end of its input tells the program to end.
        self._output.close()
        try:
            await asyncio.wait({self._gone}, timeout=_PATIENCE)
            if not self._gone.done():
                self._transport.kill()
                await self._gone
        finally:
            self._transport.close()

    def drop(self) -> None:
        """Cuts the connection off."""
        self._break(ended())
        self._transport.close()

    # What asyncio calls.

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
        # It goes on to this process's standard error, and the end of it is kept.
        self._words.add(data)
        with suppress(OSError):
            os.write(2, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        # Once all pipes are lost and its status is known, the connection is.
        if fd != 2:
            asyncio.get_running_loop().call_later(_FAREWELL, self._say_farewell)

    def process_exited(self) -> None:
        if not self._gone.done():
            self._gone.set_result(None)

    def _say_farewell(self) -> None:
        if self._broken is None and self._words is not None:
            self._break(ended(self._words.tell(self._transport.get_returncode())))

    def connection_lost(self, exc: Exception | None) -> None:
        self._say_farewell()
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
        for waiter in (self._arrived, self._writable):
            if waiter is not None and not waiter.done():
                waiter.set_exception(self._broken)


def _drop(making: asyncio.Future[Stream]) -> None:
    """Ends a connection that nobody waits for any more."""
    if not making.cancelled() and making.exception() is None:
        making.result().drop()
