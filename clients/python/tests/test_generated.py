"""The classes that `bobak schema --python` writes describe the tables of which it wrote them."""

from __future__ import annotations

import datetime as dt
import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from serving import program, stdio_url

import bobak


@dataclass
class Airline:
    code: str = bobak.column(key=True, max=2)
    name: str = bobak.column(unique=True, collation="nocase")


@dataclass(kw_only=True)
class Flight:
    id: UUID
    airline: str = bobak.column(references=Airline, on_delete="cascade", index=True)
    number: int = bobak.column(type="u16", check="number > 0")
    origin: str | None = None
    day: dt.date
    leaves: dt.time | None
    lands: dt.datetime
    price: Decimal
    late: bool | None
    distance: float
    share: float = bobak.column(type="f32")
    notes: str = bobak.column(search="english")
    data: bytes | None
    tags: Any = bobak.column(type="json")
    extra: Any
    place: list[float] | None = bobak.column(vector=2)
    class_: str = bobak.column(name="class")
    made: dt.datetime | None = bobak.column(created_at=True, store="text")
    changed: dt.datetime | None = bobak.column(modified_at=True)
    version: int = bobak.column(version=True)

    __table__ = "flights"
    __indexes__ = (("day", "airline"),)
    __unique__ = (("airline", "number", "day"),)


@dataclass
class Square:
    row: int = bobak.column(key=True, type="i16")
    letter: str = bobak.column(key=True)


def schema(folder: Path, database: str, *arguments: str) -> str:
    command = [program(), "schema", database, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made


def test_generated_classes_describe_their_tables(tmp_path: Path) -> None:
    with bobak.connect(stdio_url(tmp_path, "given.db")) as db:
        for record in (Airline, Flight, Square):
            db.create(record)
    (tmp_path / "made_records.py").write_text(schema(tmp_path, "given.db", "--python"))
    made = module(tmp_path / "made_records.py")
    with bobak.connect(stdio_url(tmp_path, "made.db")) as db:
        for record in (made.Airline, made.Flight, made.Square):
            db.create(record)
    assert schema(tmp_path, "made.db") == schema(tmp_path, "given.db")
    # They read and write the existing tables, and a key is generated.
    with bobak.connect(stdio_url(tmp_path, "given.db")) as db:
        db.table(made.Airline).insert(made.Airline(code="LX", name="Swiss"))
        flight = made.Flight(
            airline="LX",
            number=8,
            day=dt.date(2024, 2, 29),
            lands=dt.datetime(2024, 2, 29, 12, 30),
            price=Decimal("99.50"),
            distance=0.5,
            share=0.25,
            notes="late",
            tags=["a", {"b": None}],
            extra=7,
            place=[1.0, 2.0],
            class_="Y",
        )
        flights = db.table(made.Flight)
        key = flights.insert(flight)
        assert flights.get(key) == flight
        assert key != UUID(int=0)


def test_tables_without_a_class_are_named(tmp_path: Path) -> None:
    with bobak.connect(stdio_url(tmp_path, "v.db")) as db:
        db.execute('CREATE TABLE "odd name" ("2nd" INTEGER PRIMARY KEY, "lambda" TEXT)')
        db.execute('CREATE VIEW lambdas AS SELECT "lambda" FROM "odd name"')
    text = schema(tmp_path, "v.db", "--python")
    assert "# In no class: lambdas: it has no key\n" in text
    assert 'lambda_: str | None = bobak.column(name="lambda", default=None)' in text
    with pytest.raises(subprocess.CalledProcessError):
        schema(tmp_path, "v.db", "--python", "--rust")


def test_names_that_python_normalizes(tmp_path: Path) -> None:
    names = ["nai\u0308ve", "na\u00efve", "\uff4e\uff41\uff4d\uff45"]
    names += ["\ufb01eld", "\u2163", "\uff49\uff46"]
    columns = ", ".join(f'"{name}" INTEGER' for name in names)
    with bobak.connect(stdio_url(tmp_path, "n.db")) as db:
        db.execute(f"CREATE TABLE odd (id INTEGER PRIMARY KEY, {columns})")
    (tmp_path / "odd_names.py").write_text(schema(tmp_path, "n.db", "--python"))
    odd = module(tmp_path / "odd_names.py").Odd
    with bobak.connect(stdio_url(tmp_path, "n.db")) as db:
        table = db.table(odd)
        fields = ["na\u00efve", "na\u00efve_", "name", "field", "iv", "if_"]
        one = odd(**{field: place for place, field in enumerate(fields)})
        assert table.insert(one) == 1
        assert table.require(1) == one
        row = db.table("odd").get(1)
        assert row is not None
        assert [row[name] for name in names] == list(range(6))
