"""SQL texts with parameters by name, and with lists."""

from __future__ import annotations

from typing import Any

import pytest

import bobak
from bobak import ErrorKind
from bobak._core.sql_text import bind


def test_names_and_lists(url: str) -> None:
    with bobak.connect(url) as db:
        db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        db.execute_many(
            "INSERT INTO item (id, name) VALUES (:id, :name)",
            [{"id": 1, "name": "pen"}, {"id": 2, "name": "ink"}, {"name": "pad", "id": 3}],
        )
        text = "SELECT id FROM item WHERE name IN (:names) OR id = :id OR name = ':id' ORDER BY id"
        assert db.sql(text, {"names": ["pad", "cup"], "id": 1}) == [(1,), (3,)]
        assert db.sql(text, {"names": (), "id": 2}) == [(2,)]
        text = "SELECT count(*) FROM item WHERE id NOT IN (?) AND id < ?"
        assert db.sql(text, [set(), 3]) == [(2,)]
        assert db.sql(text, (range(2, 9), 3)) == [(1,)]
        assert (
            db.execute(
                "UPDATE item SET name = :name WHERE id IN (:of)", {"name": "x", "of": [1, 2]}
            )
            == 2
        )
        assert list(db.sql_iter("SELECT :a + :a", {"a": 4})) == [(8,)]


def test_texts_are_bound_outside_of_strings_and_comments() -> None:
    text = "SELECT ':a', \":a\", a::text -- :a\n, :b /* :a */ FROM t WHERE x=:a AND y IN(:b,:a)"
    bound, values = bind(text, {"a": 1, "b": 2})
    expected = "SELECT ':a', \":a\", a::text -- :a\n, ? /* :a */ FROM t WHERE x=? AND y IN(?,?)"
    assert bound == expected
    assert [value.value for value in values] == [2, 1, 2, 1]
    bound, _ = bind("a IN (:none) OR b NOT in (:none )", {"none": []})
    assert bound == "a IN (NULL) IS TRUE OR b NOT in (NULL ) IS NOT FALSE"


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("x = :a AND y = ?", {"a": 1}, "the text has a parameter ?"),
        ("x = :b", {"a": 1}, "the text has no parameter :a"),
        ("x = :a AND y = :b", {"a": 1}, "the parameter :b of the text has no value"),
        ("x = :a", {"a": [1]}, "a list of values stands alone"),
        ("x IN (1, :a)", {"a": []}, "a list of values stands alone"),
        ("x IN (?) AND y = ?", [[1]], "the text has 2 parameters, and 1 are given"),
        ("x = '\\' OR y = :a --'", {"a": 1}, "databases differ"),
        ("x = ?", "a", "parameters are a list"),
    ],
)
def test_what_does_not_fit_is_rejected(text: str, values: Any, message: str) -> None:
    with pytest.raises(bobak.Error, match=message.replace("?", r"\?")) as caught:
        bind(text, values)
    assert caught.value.kind in (ErrorKind.MISUSE, ErrorKind.UNSUPPORTED)
