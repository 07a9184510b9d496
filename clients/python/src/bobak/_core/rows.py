"""Results of SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .._errors import Error, ErrorKind
from .._wire.schema import Type

if TYPE_CHECKING:
    import pandas
    import pyarrow

T = TypeVar("T")


class Rows(Sequence[T]):
    """The rows of an SQL statement, and the names of its columns."""

    def __init__(
        self, columns: list[str], rows: list[T], types: Sequence[Type] | None = None
    ) -> None:
        self.columns = columns
        self._rows = rows
        #: The types of the columns, for tables of pyarrow.
        self._types: Sequence[Type | None] = types or [None] * len(columns)

    def dicts(self) -> list[dict[str, Any]]:
        """Each row as a dict; raises ``MISUSE`` if two columns have the same name."""
        for name in self.columns:
            if self.columns.count(name) > 1:
                message = f"two columns have the name '{name}': rename one with AS"
                raise Error(ErrorKind.MISUSE, message)
        return [dict(zip(self.columns, row)) for row in self._rows]  # type: ignore[call-overload]

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow. A column whose type the server knows has the same type
        whatever its values are: amounts are ``decimal128(19, 4)``, and decimal numbers, such as
        sums of amounts on PostgreSQL, ``decimal128(38, 18)`` if they fit."""
        from .frames import arrow_of

        return arrow_of(self.columns, self._types, self._rows)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas."""
        from .frames import pandas_of

        return pandas_of(self.columns, [None] * len(self.columns), self._rows)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return self._rows == (other._rows if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Rows({self.columns!r}, {self._rows!r})"
