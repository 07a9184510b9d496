"""Transports: a socket, with or without TLS, or pipes to a child process."""

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
from .._core.error_tail import ErrorTail
from .._core.link import Link
from .._core.url import Program, Target, Tcp, Unix

_BUFFER = 1 << 18
#: Seconds that a child process may take to end after its input has ended, before it is killed.
_END_TIMEOUT = 5.0
#: Seconds to wait for the exit status after a child process has closed its output.
_REASON_TIMEOUT = 0.5


class Transport(Protocol):
    """A connected stream of bytes."""

    def send(self, data: bytes) -> None:
        """Sends all of it."""

    def receive(self, link: Link) -> None:
        """Waits until bytes are received, and passes them to the link."""

    def is_alive(self) -> bool:
        """Whether the other end is connected and has sent nothing."""

    def close(self) -> None: ...

    def disown(self) -> None:
        """Closes the descriptors that a forked process has inherited. The parent process keeps
        the connection."""


#: The exception that cancels a call: the call does not wait for the server.
CANCELLED = KeyboardInterrupt


def sleep(seconds: float) -> None:
    """Waits."""
    time.sleep(seconds)


def connect(target: Target) -> Transport:
    """Connects.

    Raises :class:`Broken`.
    """
    transport = target.transport
    try:
        if isinstance(transport, Tcp):
            return _Socket(_tcp(transport, target), target.timeout)
        if isinstance(transport, Unix):
            stream = socket.socket(socket.AF_UNIX)
            try:
                stream.settimeout(target.connect_timeout)
                stream.connect(transport.path)
            except BaseException:
                stream.close()
                raise
            return _Socket(stream, target.timeout)
        return _Pipes(transport, target.timeout)
    except OSError as error:
        raise unreachable(target.place, error) from error


def _tcp(transport: Tcp, target: Target) -> socket.socket:
    stream = socket.create_connection((transport.host, transport.port), target.connect_timeout)
    try:
        # Requests are written completely: delaying small packets only costs time.
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not transport.tls:
            return stream
        context = target.tls_context()
        return context.wrap_socket(stream, server_hostname=transport.host)
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

    def disown(self) -> None:
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
        self._words = ErrorTail(program.words[0])
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._input.write(rest) :]
        except BrokenPipeError as error:
            raise self._end_reason() from error
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
            raise self._end_reason()
        link.feed(data)

    def _listen(self) -> None:
        """Copies standard error to that of this process, and stores its end."""
        assert self._child.stderr is not None
        with self._child.stderr as said:
            while data := said.read(_BUFFER):
                self._words.add(data)
                with suppress(OSError):
                    os.write(2, data)

    def _end_reason(self) -> Broken:
        try:
            self._child.wait(_REASON_TIMEOUT)
        except subprocess.TimeoutExpired:
            return ended(self._words.tell(None))
        self._listener.join(_REASON_TIMEOUT)
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
        # The program ends when its input ends.
        self._input.close()
        try:
            self._child.wait(_END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._output.close()

    def disown(self) -> None:
        self._input.close()
        self._output.close()
