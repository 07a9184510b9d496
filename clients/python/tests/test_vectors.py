"""Every byte of the shared vectors: written, and read."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import bobak
from bobak._core import results, types
from bobak._wire import answer, condition, frame, request, row
from bobak._wire.code import Garbled
from bobak._wire.frame import Kind
from bobak._wire.schema import (
    Collation,
    Column,
    ForeignKey,
    Index,
    KeysBy,
    OnDelete,
    OnUpdate,
    Reference,
    Role,
    Search,
    TableSchema,
    Type,
)

FOLDER = Path(__file__).parents[3] / "vectors"


def load(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / name).read_text())


def value(found: Any) -> Any:
    """A value of the vector files."""
    if isinstance(found, dict):
        if "int" in found:
            return int(found["int"])
        if "float" in found:
            return float(found["float"])
        return bytes.fromhex(found["hex"])
    return found


def values(found: list[Any]) -> list[Any]:
    return [value(one) for one in found]


def table(found: dict[str, Any]) -> TableSchema:
    columns = []
    for one in found["columns"]:
        one = dict(one)
        to = one.pop("references")
        one["type"] = Type[one["type"].upper()]
        one["default"] = value(one["default"])
        one["collation"], one["role"] = Collation(one["collation"]), Role(one["role"])
        if to is not None:
            to = Reference(
                to["table"],
                to["column"],
                OnDelete(to["on_delete"]),
                OnUpdate(to.get("on_update", 0)),
                to.get("deferred", False),
            )
        columns.append(Column(**one, references=to))
    indexes = [Index(one["name"], tuple(one["columns"]), one["unique"]) for one in found["indexes"]]
    return TableSchema(
        found["name"],
        tuple(columns),
        tuple(found["key"]),
        KeysBy(found["keys_made_by"]),
        tuple(indexes),
        found.get("never_reused", False),
        tuple(foreign_key(one) for one in found.get("foreign_keys", ())),
        found.get("view", False),
        searched(found.get("search")),
    )


def searched(found: dict[str, Any] | None) -> Search | None:
    return found and Search(tuple(found["columns"]), found["language"])


def foreign_key(one: dict[str, Any]) -> ForeignKey:
    actions = one["actions"]
    return ForeignKey(
        tuple(one["columns"]),
        one["table"],
        tuple(one["referenced"]),
        OnDelete(actions & 3),
        OnUpdate(actions >> 2 & 3),
        actions >= 16,
    )


def placed(found: Any) -> condition.Placed:
    if "and" in found:
        return condition.And(tuple(map(placed, found["and"])))
    if "or" in found:
        return condition.Or(tuple(map(placed, found["or"])))
    if "not" in found:
        return condition.Not(placed(found["not"]))
    if "is_null" in found:
        return condition.IsNull(found["is_null"])
    place = found["column"]
    if "in_query" in found:
        query = found["in_query"]
        inner = None if query["condition"] is None else placed(query["condition"])
        return condition.InQuery(found["column"], query["table"], query["column"], inner)
    if "in" in found:
        return condition.In(place, tuple(values(found["in"])))
    if "like" in found:
        return condition.Like(place, found["like"], found.get("escape"))
    if "contains" in found:
        return condition.Contains(place, found["contains"])
    if "ends_with" in found:
        return condition.EndsWith(place, found["ends_with"])
    if "starts_with" in found:
        return condition.StartsWith(place, found["starts_with"])
    if "right" in found:
        return condition.CompareColumns(place, found["comparison"], found["right"])
    return condition.Compare(place, found["comparison"], value(found["value"]))


def parameters(found: dict[str, Any]) -> list[request.Parameter]:
    kinds = [Type[name.upper()] for name in found["types"]]
    return [request.Parameter(*both) for both in zip(values(found["parameters"]), kinds)]


def source(found: dict[str, Any]) -> bytes:
    if "sql" in found:
        return request.sql(found["sql"], parameters(found))
    if "statement" in found:
        return request.statement(found["statement"], parameters(found))
    where, near = found["condition"], found.get("nearest")
    select = condition.Select(
        [next(iter(one.items())) for one in found["columns"]],
        None if where is None else placed(where),
        found["group"],
        [(one["column"], one["descending"]) for one in found["order"]],
        found["limit"],
        found["offset"],
        lock["wait_at_most"] if isinstance(lock := found.get("lock"), dict) else lock,
        (search["text"], search["ranked"]) if (search := found.get("search")) else None,
        near and (near["column"], near["metric"], struct.pack(f"<{len(near['to'])}f", *near["to"])),
    )
    return request.select(found["table"], select)


def change(found: dict[str, Any]) -> tuple[str, TableSchema, int]:
    if "create_table" in found:
        return "create_table", table(found["create_table"]), 0
    what = next(what for what in request.SCHEMA_CHANGES if what in found)
    return what, table(found["table"]), found[what]


def assign(found: dict[str, Any]) -> condition.Assign:
    place = found["add"] if "add" in found else found["set"]
    return condition.Assign(place, value(found["value"]), "add" in found)


def body(kind: Kind, m: dict[str, Any]) -> bytes:
    """The bytes that a client sends for a message."""
    if kind is Kind.HELLO:
        shown = m["credentials"] or {}
        user = (shown["user"], shown["password"]) if "user" in shown else None
        versions = (m["lowest"], m["highest"])
        return request.hello(m["database"], m["client"], shown.get("token"), user, versions)
    if kind is Kind.DEFINE:
        return request.define(m["number"], table(m["table"]))
    if kind is Kind.PREPARE:
        return request.prepare(m["number"], m["sql"])
    if kind is Kind.FORGET:
        return request.forget(m["what"] == "table", m["number"])
    if kind is Kind.CONTROL:
        return request.control(m["step"], m.get("name"))
    if kind is Kind.WRITE:
        by = request.columns(m["by"]) if "by" in m else b""
        head = request.run_head(m["table"], m["verb"], by + request.columns(m["columns"]))
        return head + row.encode(values(m["row"]))
    if kind is Kind.CHANGE:
        where = None if m["condition"] is None else placed(m["condition"])
        assigns = None if m["assign"] is None else list(map(assign, m["assign"]))
        return request.change(m["table"], where, assigns)
    if kind is Kind.BATCH:
        runs = [
            (
                request.run_head(one["table"], one["verb"], request.columns(one["columns"])),
                b"".join(row.encode(values(each)) for each in one["rows"]),
            )
            for one in m["runs"]
        ]
        return request.batch(m["on_error"] == "stop", runs)
    if kind is Kind.GET:
        return request.get(m["table"], values(m["key"]))
    if kind is Kind.READ_PART:
        return request.read_part(m["table"], m["column"], values(m["key"]), m["first"], m["most"])
    if kind is Kind.WRITE_VALUE:
        head = request.write_value(m["table"], m["column"], values(m["key"]), m["length"])
        return head + bytes.fromhex(m["bytes"]["hex"])
    if kind is Kind.EXPLAIN:
        return request.explain(source(m["source"]))
    if kind is Kind.QUERY:
        return request.query(m["credit"], m["columns"], source(m["source"]))
    if kind in (Kind.OPEN, Kind.EXECUTE):
        return source(m["source"])
    if kind in (Kind.FETCH, Kind.CLOSE):
        return m["cursor"].to_bytes(8, "little")
    if kind is Kind.CREDIT:
        return m["bytes"].to_bytes(4, "little")
    if kind is Kind.ALTER:
        return request.alter(list(map(change, m["changes"])))
    assert m == {}
    return b""


def error(found: bobak.Error) -> dict[str, Any]:
    kinds = list(bobak.ErrorKind)
    names = ("message", "table", "column", "row", "code", "detail")
    told = {"kind": kinds.index(found.kind) + 1, **{name: getattr(found, name) for name in names}}
    if found.kind is bobak.ErrorKind.INVALID:
        told["violations"] = [violation._asdict() for violation in found.violations]
    return told


def group(found: answer.Group) -> dict[str, Any]:
    told: dict[str, Any] = {"rows": found.rows}
    if isinstance(found.value, bobak.Error):
        told["failed"] = error(found.value)
    elif found.tag == answer.INTEGER_KEYS:
        told["integer_keys"] = found.value
    elif found.tag == answer.UPDATED_INTEGER:
        told["updated_integer"] = found.value
    elif found.tag == answer.UPDATED_KEY and isinstance(found.value, bytes):
        told["updated_key"] = {"hex": found.value.hex()}
    elif isinstance(found.value, bytes):
        told["key"] = {"hex": found.value.hex()}
    elif found.tag == answer.CHANGED:
        told["changed"] = found.value
    else:
        told["inserted" if found.tag == answer.INSERTED else "ignored"] = True
    return told


def check_answer(kind: Kind, data: bytes, m: dict[str, Any]) -> None:
    if kind is Kind.WELCOME:
        assert answer.welcome(data)._asdict() == m
    elif kind is Kind.ERROR:
        assert error(answer.error(data)) == m
    elif kind is Kind.COUNT:
        assert answer.count(data) == value(m["rows"])
    elif kind is Kind.OUTCOMES:
        assert list(map(group, answer.outcomes(data))) == m["groups"]
    elif kind is Kind.ROWS:
        assert row.decode(data) == [values(one) for one in m["rows"]]
    elif kind is Kind.COLUMNS:
        cursor, columns = answer.columns(data)
        told = [{"name": one.name, "type": one.type.name.lower()} for one in columns]
        assert {"cursor": cursor, "columns": told} == m
    elif kind is Kind.SCHEMAS:
        assert answer.schemas(data) == [table(one) for one in m["tables"]]
    else:
        assert kind is Kind.OK and data == b""


@pytest.mark.parametrize("vector", load("wire.json"), ids=lambda vector: vector["name"])
def test_frames(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    kind = Kind(vector["kind"])
    if vector["from"] == "client":
        made = body(kind, vector["message"])
        assert frame.head(kind, vector["more"], vector["id"], len(made)) + made == data
        return
    inbox = frame.Inbox()
    for byte in data[:-1]:
        inbox.feed(bytes([byte]))
        assert inbox.next() is None
    inbox.feed(data[-1:])
    found = inbox.next()
    assert found is not None and inbox.is_empty
    assert (found.kind, found.more, found.id) == (kind, vector["more"], vector["id"])
    check_answer(kind, found.body, vector["message"])


@pytest.mark.parametrize("vector", load("wire.json"), ids=lambda vector: vector["name"])
def test_descriptions_go_back_as_they_came(vector: dict[str, Any]) -> None:
    for described in vector["message"].get("tables", []):
        made = table(described).describe()
        assert TableSchema.parse(made) == table(described)
        assert TableSchema.parse(made).describe() == made


@pytest.mark.parametrize("vector", load("wire.json"), ids=lambda vector: vector["name"])
def test_frames_that_are_cut(vector: dict[str, Any]) -> None:
    if vector["from"] == "client":
        return
    data = bytes.fromhex(vector["hex"])[frame.HEAD.size :]
    for end in range(len(data)):
        try:
            check_answer(Kind(vector["kind"]), data[:end], vector["message"])
        except (Garbled, AssertionError):
            continue
        raise AssertionError(f"a body cut at {end} passed")


@pytest.mark.parametrize("vector", load("rows.json"), ids=lambda vector: vector["name"])
def test_rows(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    framed = len(data).to_bytes(4, "little") + data
    if vector["values"] is None:
        with pytest.raises(Garbled):
            row.decode(framed)
        return
    expected = values(vector["values"])
    assert row.encode(expected) == framed
    # Twice: the second time with the cached plan.
    assert list(map(repr, row.decode(framed + framed))) == [repr(expected)] * 2


@pytest.mark.parametrize("vector", load("types.json"), ids=lambda v: f"{v['type']} {v['text']}")
def test_types(vector: dict[str, Any]) -> None:
    kind, text, stored = Type[vector["type"].upper()], vector["text"], value(vector["stored"])
    plain = Column("c", kind)
    if stored is None:
        with pytest.raises(bobak.Error) as caught:
            types.storer(plain)(text)
        assert caught.value.kind in (bobak.ErrorKind.MISMATCH, bobak.ErrorKind.OUT_OF_RANGE)
        return
    load_plain = types.loader(plain)
    assert load_plain is not None
    known = load_plain(stored)
    assert types.storer(plain)(known) == stored
    assert types.storer(plain)(text) == stored
    if kind is Type.CURRENCY:
        assert known == Decimal(text)
        return
    kept = Column("c", kind, as_text=True)
    load_text = types.loader(kept)
    assert load_text is not None
    assert types.storer(kept)(known) == text
    assert load_text(text) == known


def test_a_32_bit_column_takes_the_nearest_float() -> None:
    store = types._STORE[Type.F32]
    assert store(0.1) == 0.10000000149011612
    assert store(float("-inf")) == float("-inf")
    for value in (1e300, 1e-60):
        with pytest.raises(bobak.Error) as raised:
            store(value)
        assert raised.value.kind == bobak.ErrorKind.OUT_OF_RANGE


@pytest.mark.parametrize("case", load("results.json"), ids=str)
def test_values_of_results(case: dict[str, Any]) -> None:
    found, kinds = value(case["value"]), (Type[case["type"].upper()], Type[case["field"].upper()])
    if "error" in case:
        with pytest.raises(bobak.Error) as caught:
            results.convert(found, *kinds)
        assert caught.value.kind == case["error"]
        return
    read, expected = results.convert(found, *kinds), value(case["read"])
    assert (type(read), read) == (type(expected), expected)
