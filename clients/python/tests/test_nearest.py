"""Vectors, and the rows nearest to one."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from serving import Server, program

import bobak
from bobak import ErrorKind, col, count, distance


@dataclass
class Document:
    id: int
    language: str
    embedding: list[float] = bobak.column(vector=3)
    picture: list[float] | None = bobak.column(vector=2, default=None)


ROWS = [
    Document(1, "en", [1, 0, 0]),
    Document(2, "fr", [0.5, 2.5, 0], [3, 4]),
    Document(3, "en", [-1.0, 0.25, 0.0]),
]


def test_nearest(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Document)
        documents = db.table(Document)
        documents.insert_many(ROWS)
        assert documents.get(2) == Document(2, "fr", [0.5, 2.5, 0.0], [3.0, 4.0])
        found = documents.where().nearest("embedding", [2, 0, 0], 10)
        assert [one.id for one in found.all()] == [1, 2, 3]
        assert [one.id for one in found] == [1, 2, 3]
        assert [one.id for one in found.limit(1, 1).all()] == [2]
        first = found.first()
        assert first is not None and first.id == 1
        english = documents.where(col.language == "en").nearest("embedding", [2, 0, 0], 1)
        assert english.select("id", distance()).all() == [(1, 0.0)]
        dot = documents.where().nearest("embedding", [0, 1, 0], 1, metric="dot")
        assert dot.select("id", distance()).all() == [(2, -2.5)]
        near = documents.where().nearest("picture", (3, 5), 9, metric="euclidean")
        assert near.select(distance(), "picture").all() == [(1.0, [3.0, 4.0])]
        rows = db.table("document")
        assert rows.get(1)["embedding"] == [1.0, 0.0, 0.0]
        assert rows.where().nearest("embedding", [0, 1, 0], 1).all()[0]["id"] == 2
        one_each = documents.where().nearest("embedding", [2, 0, 0], 1)
        related = one_each.related("language", [{"key": "en"}, {"key": "fr"}], "key")
        assert [[one.id for one in rows] for rows in related] == [[1], [2]]


def test_vectors_in_sql_and_changes(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Document)
        db.track(Document, history=True)
        documents = db.table(Document)
        documents.insert_many(ROWS)
        documents.set(1, embedding=[0, 0, 1])
        assert db.sql("SELECT picture FROM document WHERE id = 2") == [(struct.pack("<2f", 3, 4),)]
        assert db.sql("SELECT * FROM document WHERE id = 2", into=Document) == [ROWS[1]]
        change = db.changes(Document, since=0).changes[-1]
        assert change.before == Document(1, "en", [1.0, 0.0, 0.0])
        assert change.after == Document(1, "en", [0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("vector", "kind"),
    [
        ([1.0, 2.0], ErrorKind.MISMATCH),
        ([1.0, float("nan"), 0.0], ErrorKind.OUT_OF_RANGE),
        ([1.0, float("inf"), 0.0], ErrorKind.OUT_OF_RANGE),
        ([1.0, 1e39, 0.0], ErrorKind.OUT_OF_RANGE),
        ([1.0, 10**400, 0.0], ErrorKind.OUT_OF_RANGE),
        ([1.0, None, 0.0], ErrorKind.MISMATCH),
        ("123", ErrorKind.MISMATCH),
        (b"123", ErrorKind.MISMATCH),
        (5, ErrorKind.MISMATCH),
        (None, ErrorKind.MISMATCH),
    ],
)
def test_wrong_vectors(socket_url: str, vector: Any, kind: ErrorKind) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Document)
        documents = db.table(Document)
        nearest = documents.where().nearest("embedding", vector, 3)
        calls = [nearest.all]
        if vector is not None:
            calls.append(lambda: [documents.insert(Document(1, "en", vector))])
        for call in calls:
            with pytest.raises(bobak.Error) as error:
                call()
            assert error.value.kind is kind
            assert (error.value.table, error.value.column) == ("document", "embedding")


def test_wrong_queries(socket_url: str) -> None:
    with bobak.connect(socket_url) as db:
        db.create(Document)
        documents = db.table(Document)
        near = documents.where().nearest("embedding", [1, 0, 0], 3)
        for call, kind in [
            (documents.where().nearest("id", [1.0], 3).all, ErrorKind.MISMATCH),
            (documents.where().nearest("embedding", [0, 0, 0], 3).all, ErrorKind.OUT_OF_RANGE),
            (
                documents.where().nearest("embedding", [1, 0, 0], 3, metric="cos").all,
                ErrorKind.MISUSE,
            ),
            (near.order_by("id").all, ErrorKind.UNSUPPORTED),
            (near.search("fox").all, ErrorKind.UNSUPPORTED),
            (near.for_update().all, ErrorKind.UNSUPPORTED),
            (near.select("language", count()).group_by("language").all, ErrorKind.UNSUPPORTED),
            (near.count, ErrorKind.MISUSE),
            (near.delete, ErrorKind.MISUSE),
            (lambda: near.column("id"), ErrorKind.MISUSE),
            (documents.where().select(distance()).all, ErrorKind.SCHEMA),
        ]:
            with pytest.raises(bobak.Error) as error:
                call()
            assert error.value.kind is kind


@pytest.mark.parametrize("options", [{"vector": 0}, {"vector": 1 << 16}, {"type": "vector"}])
def test_a_vector_has_a_length(options: dict[str, Any]) -> None:
    with pytest.raises(bobak.Error) as error:
        bobak.column(**options)
    assert error.value.kind is ErrorKind.SCHEMA


def test_row_rules(tmp_path: Path) -> None:
    (tmp_path / "access").write_text("role reader\n    read on document where language = 'en'\n")
    made = subprocess.run(
        [program(), "token", "reader", "--role", "reader"],
        capture_output=True,
        check=True,
        text=True,
    )
    with (tmp_path / "access").open("a") as file:
        file.write(made.stdout)
    token = made.stderr.split()[-1]
    with bobak.connect(f"bobak+stdio:{program()} serve {tmp_path}/app.db --stdio") as db:
        db.create(Document)
        db.table(Document).insert_many(ROWS)
    server = Server(tmp_path, "app.db", "--listen", "127.0.0.1:0", "--access-file", "access")
    with bobak.connect(f"bobak://{server.place}/?token={token}") as db:
        near = db.table(Document).where().nearest("embedding", [0, 1, 0], 10, metric="dot")
        assert near.select("id", distance()).all() == [(3, -0.25), (1, 0.0)]
        with pytest.raises(bobak.Error) as error:
            db.table(Document).insert(Document(4, "en", [1, 0, 0]))
        assert error.value.kind is ErrorKind.DENIED
    server.stop()


def test_frames(socket_url: str) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    with bobak.connect(socket_url) as db:
        db.create(Document)
        documents = db.table(Document)
        documents.insert_many(ROWS)
        arrow, frame = documents.where().to_arrow(), documents.where().to_pandas()
        assert arrow.schema.field("embedding").type == pyarrow.list_(pyarrow.float32())
        assert isinstance(frame, pandas.DataFrame)
        frame["embedding"] = arrow.to_pandas()["embedding"]  # arrays of numpy
        for copy in (arrow, frame):
            documents.where().delete()
            assert documents.insert_frame(copy).inserted == 3
            assert documents.where().order_by("id").all() == ROWS
