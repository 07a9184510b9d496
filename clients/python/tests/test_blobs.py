"""Values of bytes in parts, and plans of queries."""

from __future__ import annotations

import asyncio
import io
import shutil
from dataclasses import dataclass

import pytest

import bobak
from bobak import ErrorKind, col


@dataclass
class Photo:
    id: int
    name: str = bobak.column(index=True)
    data: bytes | None = None
    version: int = bobak.column(version=True, default=1)


DATA = bytes((at * 0x9E37_79B9 >> 13) & 0xFF for at in range(1_500_001))


class Failing(io.RawIOBase):
    """A file that fails after some bytes."""

    def __init__(self, count: int) -> None:
        self.count = count

    def read(self, size: int = -1, /) -> bytes:
        size = min(size, self.count)
        self.count -= size
        if size == 0:
            raise OSError("the disk is gone")
        return b"a" * size


def test_values_in_parts(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Photo)
        photos = db.table(Photo)
        key = photos.insert(Photo(0, "sea"))
        assert photos.open_blob(key, "data") is None
        assert photos.open_blob(key + 1, "data") is None
        assert photos.write_blob(key, "data", io.BytesIO(DATA))
        assert not photos.write_blob(key + 1, "data", io.BytesIO(b"a"))
        assert photos.require(key) == Photo(key, "sea", DATA, 2)
        blob = photos.open_blob(key, "data")
        assert blob is not None
        with blob:
            assert blob.length == len(DATA)
            copied = io.BytesIO()
            shutil.copyfileobj(blob, copied)
            assert copied.getvalue() == DATA
            assert blob.seek(-3, io.SEEK_END) == len(DATA) - 3
            assert (blob.read(2), blob.tell(), blob.read(), blob.read(1)) == (
                DATA[-3:-1],
                len(DATA) - 1,
                DATA[-1:],
                b"",
            )
            blob.seek(1_048_570)
            room = bytearray(100)
            assert blob.readinto(room) == 100
            assert room == DATA[1_048_570:1_048_670]
            with pytest.raises(ValueError):
                blob.seek(-1)
        for source, length, kind in [
            (io.BytesIO(DATA), len(DATA) - 1, ErrorKind.MISUSE),
            (io.BytesIO(DATA), len(DATA) + 1, ErrorKind.MISUSE),
            (io.BytesIO(b"ab"), 1, ErrorKind.MISUSE),
        ]:
            with pytest.raises(bobak.Error) as caught:
                photos.write_blob(key, "data", source, length)
            assert caught.value.kind is kind
        for count in (10, 600_000):
            with pytest.raises(OSError, match="the disk is gone"):
                photos.write_blob(key, "data", Failing(count), 700_000)
        assert photos.require(key).version == 2
        for column, kind in [("name", ErrorKind.UNSUPPORTED), ("nothing", ErrorKind.SCHEMA)]:
            with pytest.raises(bobak.Error) as caught:
                photos.open_blob(key, column)
            assert caught.value.kind is kind
        with db.transaction() as tx:
            own = photos_of(tx)
            own.write_blob(key, "data", io.BytesIO(b"short"))
            found = own.open_blob(key, "data")
            assert found is not None and found.read() == b"short"
        photos.write_blob(key, "data", io.BytesIO(b""))
        empty = photos.open_blob(key, "data")
        assert empty is not None and (empty.length, empty.read()) == (0, b"")


def photos_of(session: bobak.Transaction) -> bobak.Table[Photo]:
    return session.table(Photo)


def test_a_change_is_noticed(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Photo)
        photos = db.table(Photo)
        key = photos.insert(Photo(0, "sea", DATA))
        blob = photos.open_blob(key, "data")
        assert blob is not None and blob.read(10) == DATA[:10]
        photos.set(key, name="land")
        blob.seek(1_200_000)
        with pytest.raises(bobak.Error) as caught:
            blob.read(1)
        assert caught.value.kind is ErrorKind.CONFLICT


def test_async(url: str) -> None:
    async def run() -> None:
        async with await bobak.connect_async(url) as db:
            await db.create(Photo)
            photos = await db.table(Photo)
            key = await photos.insert(Photo(0, "sea"))
            assert await photos.write_blob(key, "data", io.BytesIO(DATA), len(DATA))
            blob = await photos.open_blob(key, "data")
            assert blob is not None
            async with blob:
                assert await blob.read() == DATA
            assert (await photos.where(col.version == 1).explain()).advice[0].columns == (
                "version",
            )

    asyncio.run(run())


def test_plans(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Photo)
        photos = db.table(Photo)
        plan = photos.where(col.version == 1).explain()
        assert plan.advice[0].table == "photo"
        assert plan.advice[0].columns == ("version",)
        assert (plan.steps[0].table, plan.steps[0].access) == ("photo", "scan")
        assert str(plan).endswith(f"advice: {plan.advice[0].message}")
        plan = photos.where(col.name == "sea").explain()
        assert (plan.advice, plan.steps[0].access) == ([], "search")
        plan = db.explain("SELECT id FROM photo AS p WHERE p.version = ?", [1])
        assert plan.advice[0].columns == ("version",)
        assert plan.steps[0].table == "photo"
        with pytest.raises(bobak.Error) as caught:
            db.explain("SELECT missing FROM photo")
        assert caught.value.kind is ErrorKind.SCHEMA
