"""Full-text search."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import bobak
from bobak import ErrorKind, col, rank


@dataclass
class Article:
    id: int
    title: str = bobak.column(search="english")
    stars: int = 0
    body: str | None = bobak.column(search="english", default=None)


def test_search(url: str) -> None:
    with bobak.connect(url) as db:
        db.create(Article)
        articles = db.table(Article)
        articles.insert_many(
            [
                Article(1, "Wolves", 1, "They howl. A fox does not."),
                Article(2, "Foxes", 5, "The quick fox jumps over lazy dogs."),
                Article(3, "Nothing", 5),
            ]
        )
        foxes = articles.where().search("fox")

        def titles(found: bobak.Selection[Article]) -> list[str]:
            return [one.title for one in found.all()]

        assert titles(foxes) == ["Foxes", "Wolves"]
        assert titles(foxes.order_by("id")) == ["Wolves", "Foxes"]
        assert titles(foxes.limit(1, 1)) == ["Wolves"]
        assert titles(articles.where(col.stars > 1).search("fox")) == ["Foxes"]
        assert titles(articles.where().search('"lazy dog" NOT wolf')) == ["Foxes"]
        assert foxes.count() == 2
        (best, first), (_, second) = foxes.select("id", rank()).all()
        assert best == 2 and first > second
        for call, kind in [
            (articles.where().search("(fox").all, ErrorKind.SYNTAX),
            (foxes.delete, ErrorKind.MISUSE),
        ]:
            with pytest.raises(bobak.Error) as error:
                call()
            assert error.value.kind is kind
        assert foxes.count() == 2


def test_the_columns_of_a_search_have_one_language(url: str) -> None:
    @dataclass
    class Wrong:
        id: int
        a: str = bobak.column(search="english")
        b: str = bobak.column(search=True, default="")

    with bobak.connect(url) as db, pytest.raises(bobak.Error) as error:
        db.create(Wrong)
    assert error.value.kind is ErrorKind.SCHEMA
