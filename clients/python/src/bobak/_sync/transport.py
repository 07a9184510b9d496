"""What carries the bytes: a socket, with or without TLS, or the pipes of a child process."""

from __future__ import annotations

import os
import select
import socket
import ssl
import subprocess
import threading
import time
from contextlib import suppress
from typing import Protocol

from .._core.broken import Broken, ended, timed_out, unreachable
from .._core.last_words import LastWords
from .._core.link import Link
from .._core.url import Program, Target, Tcp, Unix

_BUFFER = 1 << 18
#: How long a child process may take to end after its input has ended, before it is killed.
_PATIENCE = 5.0
#: How long one that has closed its output may take to end, and to say why.
_FAREWELL = 0.5


class Transport(Protocol):
    """A connected stream of bytes."""

    def send(self, data: bytes) -> None:
        """Sends all of it."""

    def receive(self, link: Link) -> None:
        """Waits until something comes, and feeds it."""

    def is_alive(self) -> bool:
        """Whether the other end is there, and has said nothing unasked."""

    def close(self) -> None: ...


def nap(seconds: float) -> None:
    """Waits for so long."""
    time.sleep(seconds)


def connect(target: Target) -> Transport:
    """Connects.

    Raises :class:`Broken`.
    """
    door = target.door
    try:
        if isinstance(door, Tcp):
            return _Socket(_tcp(door, target), target.timeout)
        if isinstance(door, Unix):
            stream = socket.socket(socket.AF_UNIX)
            try:
                stream.settimeout(target.connect_timeout)
                stream.connect(door.path)
            except BaseException:
                stream.close()
                raise
            return _Socket(stream, target.timeout)
        return _Pipes(door, target.timeout)
    except OSError as error:
        raise unreachable(target.place, error) from error


def _tcp(door: Tcp, target: Target) -> socket.socket:
    stream = socket.create_connection((door.host, door.port), target.connect_timeout)
    try:
        # Requests are written whole: there is nothing to wait for.
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not door.tls:
            return stream
        context = ssl.create_default_context(cafile=target.ca)
        return context.wrap_socket(stream, server_hostname=door.host)
    except BaseException:
        stream.close()
        raise


class _Socket:
    def __init__(self, stream: socket.socket, timeout: float | None) -> None:
        self._stream = stream
        self._timeout = timeout
        self._room = memoryview(bytearray(_BUFFER))
        stream.settimeout(timeout)

    def send(self, data: bytes) -> None:
        try:
            self._stream.sendall(data)
        except TimeoutError as error:
            raise timed_out() from error
        except OSError as error:
            raise Broken(f"the connection to the server broke: {error}") from error

    def receive(self, link: Link) -> None:
        try:
            count = self._stream.recv_into(self._room)
        except TimeoutError as error:
            raise timed_out() from error
        except OSError as error:
            raise Broken(f"the connection to the server broke: {error}") from error
        if count == 0:
            raise ended()
        link.feed(self._room[:count])

    def is_alive(self) -> bool:
        try:
            self._stream.settimeout(0)
            self._stream.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            self._stream.settimeout(self._timeout)
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._stream.close()


class _Pipes:
    def __init__(self, program: Program, timeout: float | None) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            program.words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
        )
        assert self._child.stdin is not None and self._child.stdout is not None
        self._input, self._output = self._child.stdin, self._child.stdout
        self._timeout = timeout
        self._words = LastWords(program.words[0])
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._input.write(rest) :]
        except BrokenPipeError as error:
            raise self._farewell() from error
        except (OSError, ValueError) as error:
            raise Broken(f"the connection to the server broke: {error}") from error

    def receive(self, link: Link) -> None:
        if self._timeout is not None and not self._is_readable(self._timeout):
            raise timed_out()
        try:
            data = os.read(self._output.fileno(), _BUFFER)
        except (OSError, ValueError) as error:
            raise Broken(f"the connection to the server broke: {error}") from error
        if not data:
            raise self._farewell()
        link.feed(data)

    def _listen(self) -> None:
        """Hands on what it says on standard error to this process's, and keeps the end of it."""
        assert self._child.stderr is not None
        with self._child.stderr as said:
            while data := said.read(_BUFFER):
                self._words.add(data)
                with suppress(OSError):
                    os.write(2, data)

    def _farewell(self) -> Broken:
        try:
            self._child.wait(_FAREWELL)
        except subprocess.TimeoutExpired:
            return ended(self._words.tell(None))
        self._listener.join(_FAREWELL)
        return ended(self._words.tell(self._child.returncode))

    def _is_readable(self, timeout: float) -> bool:
        if not hasattr(select, "poll"):
            return True
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        return bool(poll.poll(timeout * 1000))

    def is_alive(self) -> bool:
        return self._child.poll() is None

    def close(self) -> None:
        # The end of its input tells the program to end.
        self._input.close()
        try:
            self._child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._output.close()
