"""Servers that are killed, reject clients, send invalid bytes or nothing; clients that exit."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import serving
from records import Person, people

import bobak
from bobak import ErrorKind, col
from bobak._wire import frame, request
from bobak._wire.frame import Kind


def failure(call: object, *arguments: object) -> bobak.Error:
    with pytest.raises(bobak.Error) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value


@contextmanager
def fake_server(folder: Path, *connections: list[bytes]) -> Iterator[str]:
    """A server that sends each connection the next responses, whatever it requests."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "fake"))
    listener.listen()
    kept = []

    def serve() -> None:
        for answers in connections:
            try:
                stream, _ = listener.accept()
                kept.append(stream)
                for answer in answers:
                    stream.recv(65_536)
                    stream.sendall(answer)
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"bobak+unix:{folder}/fake"
    finally:
        listener.close()
        for stream in kept:
            stream.close()


def test_over_tcp_one_must_be_known(tmp_path: Path) -> None:
    server = serving.tcp(tmp_path, "main=app.db")
    base = f"bobak://{server.place}"
    for rest in ("/", "/main?token=0123456789abcdeF", "/main?user=ada&password=x"):
        assert failure(bobak.connect, base + rest).kind is ErrorKind.DENIED
    error = failure(bobak.connect, f"{base}/other?token={serving.TOKEN}")
    assert error.kind is ErrorKind.CONFIG and serving.TOKEN not in str(error)
    with bobak.connect(f"{base}/main?token={serving.TOKEN}") as db:
        assert serving.TOKEN not in repr(db._pool.target)

    async def awaited() -> None:
        with pytest.raises(bobak.Error) as caught:
            await bobak.connect_async(f"{base}/main")
        assert caught.value.kind is ErrorKind.DENIED

    asyncio.run(awaited())
    server.stop()


def test_tls(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate")
    make = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2"
    make += " -subj /CN=localhost"
    make += " -addext subjectAltName=DNS:localhost"
    make += " -addext basicConstraints=critical,CA:FALSE"
    subprocess.run(["openssl", *make.split()], cwd=tmp_path, check=True, capture_output=True)
    server = serving.tcp(tmp_path, "app.db", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    port = server.place.rsplit(":")[-1]
    url = f"bobak://localhost:{port}/?token={serving.TOKEN}&tls=on"
    assert failure(bobak.connect, url).kind is ErrorKind.UNREACHABLE
    plain = serving.tcp(tmp_path)
    for other, why in (
        (url.removesuffix("&tls=on"), "the server speaks TLS: add tls=on"),
        (f"bobak://{plain.place}/?token={serving.TOKEN}&tls=on", "does not speak TLS: remove tls"),
    ):
        for error in both_faces(other):
            assert error.kind is ErrorKind.CONFIG and why in str(error), error
    plain.stop()
    with bobak.connect(f"{url}&ca={tmp_path}/cert.pem") as db:
        db.create(Person)
        db.table(Person).insert_many(people(20_000))
        assert sum(1 for _ in db.table(Person)) == 20_000

    async def awaited() -> None:
        async with await bobak.connect_async(f"{url}&ca={tmp_path}/cert.pem") as db:
            assert await (await db.table(Person)).count() == 20_000

    asyncio.run(awaited())
    server.stop()


def test_wrong_urls() -> None:
    for url in (
        "app.db",
        "bobak:",
        "bobak+unix:",
        "bobak+stdio: ",
        "http://x",
        "bobak://h?tls=maybe",
        "bobak://h?user=x",
        "bobak://h?timeout=x",
        "bobak://h?what=1",
        "bobak://h?token=1&token=2",
        'bobak+stdio:true "app.db"',
        "bobak+stdio:'true' x",
    ):
        assert failure(bobak.connect, url).kind is ErrorKind.CONFIG, url
    assert failure(bobak.connect, "bobak+unix:/nowhere/at/all").kind is ErrorKind.UNREACHABLE
    assert failure(bobak.connect, "bobak+stdio:/nowhere/at/all").kind is ErrorKind.UNREACHABLE
    assert failure(bobak.connect, "bobak+stdio:true").kind is ErrorKind.UNREACHABLE
    assert failure(bobak.connect, "bobak://127.0.0.1:1/").kind is ErrorKind.UNREACHABLE


def test_a_killed_server(tmp_path: Path) -> None:
    server = serving.unix(tmp_path)
    db = bobak.connect(f"bobak+unix:{server.place}")
    db.create(Person)
    table = db.table(Person)
    table.insert(Person(0, "Ada"))
    with pytest.raises(bobak.Error) as caught, db.transaction() as transaction:
        inside = transaction.table(Person)
        inside.insert(Person(0, "lost"))
        rows = iter(table)
        next(rows)
        server.kill()
        error = failure(inside.insert, Person(0, "lost too"))
        assert error.kind is ErrorKind.UNREACHABLE and error.is_retryable
    assert caught.value.kind is ErrorKind.UNREACHABLE
    assert failure(table.count).kind is ErrorKind.UNREACHABLE
    (tmp_path / "socket").unlink()
    server = serving.unix(tmp_path)
    # A read is repeated on a new connection; the transaction is undone.
    assert table.count() == 1
    server.kill()
    (tmp_path / "socket").unlink()
    server = serving.unix(tmp_path)
    # Nothing is sent on the closed connection, however short it has rested.
    table._session._pool._rested[-1].rest()  # type: ignore[attr-defined]
    assert table.set(1, age=37)
    assert table.get(1) == Person(1, "Ada", 37)
    with db.transaction() as transaction:
        transaction.table(Person).insert(Person(0, "b"))

    # Killed during a batch: the result is unknown.
    def rows_until_killed() -> Iterator[Person]:
        yield from people(20_000)
        server.kill()
        yield from people(20_000)

    error = failure(table.insert_many, rows_until_killed())
    assert error.kind is ErrorKind.UNKNOWN and not error.is_retryable
    db.close()


def test_a_killed_child_process(tmp_path: Path) -> None:
    with bobak.connect(serving.stdio_url(tmp_path)) as db:
        db.create(Person)
        table = db.table(Person)
        table.insert(Person(0, "Ada"))
        child = db._pool._rested[0]._transport._child  # type: ignore[attr-defined]
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert table.count() == 1


def shell(text: str) -> str:
    """The URL of a shell script, which does not speak the protocol."""
    return f"bobak+stdio:sh -c {text.replace('%', '%25').replace(' ', '%20')}"


def both_faces(url: str) -> list[bobak.Error]:
    """The error of a failed connect, sync and async."""

    async def awaited() -> bobak.Error:
        with pytest.raises(bobak.Error) as caught:
            await bobak.connect_async(url)
        return caught.value

    return [failure(bobak.connect, url), asyncio.run(awaited())]


def test_a_child_that_ends_says_why(tmp_path: Path) -> None:
    loop = "i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done"
    serve = serving.stdio_url(tmp_path / "none", "x.db")
    for url, why in (
        (serve, r"bobak ended \(exit status 1\), and said: bobak: could not open .*none/x\.db"),
        (shell("kill -9 $$"), r": sh ended \(signal SIGKILL\)$"),
        (shell("echo hm; echo hm >&2; exit 3"), r": sh ended \(exit status 3\), and said: hm$"),
        # The process continues; the client waits only a moment.
        (shell("exec >&-; echo hm >&2; read x"), r": sh closed its output, and said: hm$"),
        (shell(f"{loop}; printf '\\033[1mlast' >&2; exit 3"), r"line 1999 \| \[1mlast$"),
    ):
        for error in both_faces(url):
            assert error.kind is ErrorKind.UNREACHABLE
            assert re.search(why, str(error)), error
            assert "line 1900" not in str(error) and len(str(error)) < 1000


def test_a_child_that_is_killed_says_how(tmp_path: Path) -> None:
    file, how = tmp_path / "pid", r"sh ended \(signal SIGKILL\); the transaction was rolled back"
    url = shell(f"echo $$ >{file}; exec {serving.program()} serve {tmp_path}/app.db --stdio")
    with bobak.connect(url) as db:
        db.create(Person)
        with pytest.raises(bobak.Error, match=how), db.transaction() as transaction:
            os.kill(int(file.read_text()), signal.SIGKILL)
            transaction.table(Person).insert(Person(0, "lost"))
        assert db.table(Person).count() == 0

    async def awaited() -> None:
        async with await bobak.connect_async(url) as db:
            with pytest.raises(bobak.Error, match=how):
                async with db.transaction() as transaction:
                    os.kill(int(file.read_text()), signal.SIGKILL)
                    await (await transaction.table(Person)).insert(Person(0, "lost"))
            assert await (await db.table(Person)).count() == 0

    asyncio.run(awaited())


def test_a_client_that_vanishes_in_a_transaction(tmp_path: Path) -> None:
    server = serving.unix(tmp_path)
    url = f"bobak+unix:{server.place}"
    with bobak.connect(url) as db:
        db.create(Person)
        text = (
            "import bobak, os, records\n"
            f"db = bobak.connect({url!r})\n"
            "with db.transaction() as transaction:\n"
            "    transaction.table(records.Person).insert(records.Person(0, 'x'))\n"
            "    os._exit(7)\n"
        )
        folder = Path(__file__).parent
        assert subprocess.run([sys.executable, "-c", text], cwd=folder, check=False).returncode == 7
        # Its transaction is undone: others can write, and see none of its changes.
        assert db.table(Person).insert(Person(0, "y")) == 1
        assert db.table(Person).count() == 1
    server.stop()


WELCOME = bytes.fromhex(
    next(
        one["hex"]
        for one in __import__("json").loads((serving.ROOT / "vectors/wire.json").read_text())
        if one["name"] == "welcome"
    )
)


def head(kind: int, number: int, length: int = 0, flags: int = 0) -> bytes:
    return frame.HEAD.pack(length, kind, flags, 0, number)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\0" * 12,
        head(Kind.OK, 1),
        head(Kind.OK, 77),
        head(Kind.PING, 2),
        head(Kind.COUNT, 2, 8) + b"12345678",
        head(Kind.WELCOME, 1, 3) + b"abc",
        head(Kind.WELCOME, 1, 1, 2) + b"a",
    ],
)
@pytest.mark.parametrize("first", [b"", WELCOME], ids=["at once", "later"])
def test_garbage(tmp_path: Path, first: bytes, answer: bytes) -> None:
    answers = [first, answer] if first else [answer]
    with fake_server(tmp_path, answers, answers) as url:

        def work() -> None:
            bobak.connect(url).ping()

        error = failure(work)
        # The first response shows another protocol: HTTP.
        wrong = answer.startswith(b"HTTP") and not first
        kind = ErrorKind.CONFIG if wrong else ErrorKind.UNREACHABLE
        assert error.kind is kind, error

        async def awaited() -> None:
            async with await bobak.connect_async(url) as db:
                await db.ping()

        error = failure(asyncio.run, awaited())
        assert error.kind is kind, error


def test_silence(tmp_path: Path) -> None:
    with fake_server(tmp_path, [], [], [WELCOME], [WELCOME]) as url:
        assert failure(bobak.connect, f"{url}?timeout=50").kind is ErrorKind.TIMEOUT
        error = failure(asyncio.run, bobak.connect_async(f"{url}?timeout=50"))
        assert error.kind is ErrorKind.TIMEOUT
        db = bobak.connect(f"{url}?timeout=50")
        assert failure(db.execute, "DELETE FROM x").kind is ErrorKind.UNKNOWN
        db = bobak.connect(f"{url}?timeout=50")
        assert failure(db.ping).kind is ErrorKind.TIMEOUT


def test_a_pool_that_is_empty(socket_url: str) -> None:
    with bobak.connect(f"{socket_url}?connections=1&timeout=300") as db:
        db.create(Person)
        table = db.table(Person)
        table.insert_many(people(10))
        with db.transaction():
            # This thread would wait for itself.
            assert failure(table.count).kind is ErrorKind.BUSY
            other = threading.Thread(target=lambda: failures.append(failure(table.count)))
            failures: list[bobak.Error] = []
            other.start()
            other.join()
            assert failures[0].kind is ErrorKind.BUSY
        assert table.where(col.id > 5).count() == 5
        db.close()
        assert failure(table.count).kind is ErrorKind.MISUSE


def test_a_request_over_the_limit(tmp_path: Path) -> None:
    limits = ["--max-frame", "100000", "--max-row", "50000"]
    server = serving.Server(tmp_path, "app.db", "--unix", str(tmp_path / "socket"), *limits)
    with bobak.connect(f"bobak+unix:{server.place}") as db:
        error = failure(db.sql, "SELECT ?", ("x" * 100_000,))
        assert error.kind is ErrorKind.OUT_OF_RANGE
        assert db.sql("SELECT ?", ("x",)) == [("x",)]
        # Batches are divided to fit the server's limits.
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT NOT NULL)")
        table = db.table("t")
        assert table.insert_many({"v": "y" * 20_000} for _ in range(30)).inserted == 30
    server.stop()


def test_the_hello_says_which_versions(tmp_path: Path) -> None:
    server = serving.unix(tmp_path)
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(server.place)
        body = request.hello("", "x", versions=(7, 9))
        stream.sendall(frame.head(Kind.HELLO, False, 1, len(body)) + body)
        inbox = frame.Inbox()
        inbox.feed(stream.recv(4096))
        found = inbox.next()
        assert found is not None and found.kind is Kind.ERROR
    server.stop()


@pytest.mark.parametrize(
    "url",
    [
        "bobak://ada:sec%20ret@localhost:1/x",
        "bobak://ada:sec/ret@localhost/x",
        "bobak://ada:p?sec@localhost",
        "bobak://ada%40sec",
        "bobak://localhost:99999/x",
        "bobak://ada:sec?x=1",
    ],
)
def test_errors_show_no_password(url: str) -> None:
    with pytest.raises(bobak.Error) as raised:
        bobak.connect(url)
    assert raised.value.kind is ErrorKind.CONFIG
    assert "sec" not in str(raised.value)


def test_a_file_without_certificates(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    server = serving.tcp(tmp_path)
    for file in ("empty.pem", "missing.pem"):
        with pytest.raises(bobak.Error, match=f"ca: .*{file}") as raised:
            bobak.connect(f"bobak://{server.place}/?tls=on&ca={tmp_path / file}")
        assert raised.value.kind is ErrorKind.CONFIG
    server.stop()
