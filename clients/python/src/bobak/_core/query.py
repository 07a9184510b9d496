"""Conditions, orders and expressions over named columns: plain values, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._errors import Error, ErrorKind
from .._wire import condition as wire
from .._wire.code import Stored
from .._wire.schema import Type
from .table_plan import Plan


class Condition:
    """Selects rows. Compare columns to make one, and combine several with ``&``, ``|`` and
    ``~``, at most 200 levels deep."""

    #: How many levels it has.
    depth = 1

    def __and__(self, other: Condition) -> Condition:
        return _Both(wire.And, (self, _checked(other)))

    def __or__(self, other: Condition) -> Condition:
        return _Both(wire.Or, (self, _checked(other)))

    def __invert__(self) -> Condition:
        return _Negated(self)

    def _nest(self, depth: int) -> None:
        """Sets the depth. What is too deep is rejected: to walk it would overflow the stack."""
        wire.check_depth(depth)
        object.__setattr__(self, "depth", depth)

    def __bool__(self) -> bool:
        raise TypeError("a condition is neither true nor false: use &, | and ~, with parentheses")

    def place(self, plan: Plan) -> wire.Placed:
        """The condition over positions of columns and stored values."""
        raise NotImplementedError


def _checked(condition: object) -> Condition:
    if isinstance(condition, Condition):
        return condition
    message = f"a condition compares a column, as col.age > 30, and is not {condition!r}"
    raise Error(ErrorKind.MISUSE, message)


def names_of(columns: Iterable[object], what: str) -> tuple[str, ...]:
    """Names of columns, which are texts."""
    names = tuple(columns)
    for name in names:
        if not isinstance(name, str):
            message = f"{what} takes names of columns, such as 'age', and not {name!r}"
            raise Error(ErrorKind.MISUSE, message)
    return names  # type: ignore[return-value]


def expressions_of(columns: Iterable[object]) -> tuple[Expression, ...]:
    """Selected columns, by name, and aggregates."""
    found = []
    for one in columns:
        if not isinstance(one, Expression):
            one = Expression("column", *names_of((one,), "select"))
        found.append(one)
    return tuple(found)


def number_of(rows: object, what: str, least: int = 0) -> int:
    """A number of rows."""
    if isinstance(rows, bool) or not hasattr(rows, "__index__"):
        raise Error(ErrorKind.MISUSE, f"{what} is a whole number, and not {rows!r}")
    number = int(rows.__index__())
    if not least <= number < 1 << 63:
        raise Error(ErrorKind.MISUSE, f"{what} is at least {least}, and not {number}")
    return number


@dataclass(frozen=True, eq=False)
class Field:
    """A column by its name: compare it, or aggregate it."""

    name: str

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return self.is_null() if other is None else _Comparison(self, "=", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return ~self.is_null() if other is None else _Comparison(self, "<>", other)

    def __lt__(self, other: object) -> Condition:
        return _Comparison(self, "<", other)

    def __le__(self, other: object) -> Condition:
        return _Comparison(self, "<=", other)

    def __gt__(self, other: object) -> Condition:
        return _Comparison(self, ">", other)

    def __ge__(self, other: object) -> Condition:
        return _Comparison(self, ">=", other)

    __hash__ = None  # type: ignore[assignment]

    def is_in(self, values: Iterable[object] | ColumnOfRows) -> Condition:
        """Whether it is one of the values, or equals a column of rows of another table:
        ``col.customer_id.is_in(customers.where(col.city == "Bern").column("id"))``. The server
        compares; the rows are not sent. ``None`` among the values matches nothing."""
        if isinstance(values, ColumnOfRows):
            return _InRows(self, values)
        return _OneOf(self, tuple(values))

    def is_null(self) -> Condition:
        return _Null(self)

    def like(self, pattern: str, escape: str | None = None) -> Condition:
        """``%`` stands for any sequence of characters, ``_`` for one.

        After ``escape``, one character other than these, the next one stands for itself.
        """
        return _Like(self, pattern, escape)

    def starts_with(self, prefix: str) -> Condition:
        """Whether the text begins with it, byte for byte."""
        return _Pattern(self, prefix, wire.StartsWith)

    def contains(self, part: str) -> Condition:
        """Whether the text has it somewhere, byte for byte."""
        return _Pattern(self, part, wire.Contains)

    def ends_with(self, suffix: str) -> Condition:
        """Whether the text ends with it, byte for byte."""
        return _Pattern(self, suffix, wire.EndsWith)

    def count(self) -> Expression:
        """The number of rows whose column is not NULL."""
        return Expression("count_of", self.name)

    def sum(self) -> Expression:
        return Expression("sum", self.name)

    def min(self) -> Expression:
        return Expression("min", self.name)

    def max(self) -> Expression:
        return Expression("max", self.name)

    def avg(self) -> Expression:
        """The average, a float; for money in whole units."""
        return Expression("avg", self.name)


class Fields:
    """``col.age`` and ``col["age"]``: columns by their names."""

    def __getattr__(self, name: str) -> Field:
        if name.startswith("__"):
            raise AttributeError(name)
        return Field(name)

    def __getitem__(self, name: str) -> Field:
        return Field(name)


#: Columns by their names: ``col.age > 30``.
col = Fields()


@dataclass(frozen=True)
class Expression:
    """A column, or an aggregate."""

    what: str
    name: str = ""

    def place(self, plan: Plan) -> tuple[str, int]:
        return self.what, plan.place(self.name) if self.name else 0


def is_deleted(column: str) -> Condition:
    """Whether a row was deleted, by the column with the time of the deletion."""
    return ~Field(column).is_null()


def with_deleted(column: str) -> Condition:
    """True for each row. Since it names the column, deleted rows are not left out."""
    return Field(column).is_null() | is_deleted(column)


def count() -> Expression:
    """The number of rows, or of the rows of each group."""
    return Expression("count")


def rank() -> Expression:
    """How well a row fits the search of its query: the larger the better. It is a number of the
    engine: compare those of one query only."""
    return Expression("rank")


def distance() -> Expression:
    """The distance of a row in a query for the nearest rows, a float."""
    return Expression("distance")


@dataclass(frozen=True)
class Nearest:
    """From which vector the distances of a column of vectors are measured."""

    column: str
    to: Sequence[float]
    metric: str

    def place(self, plan: Plan) -> tuple[int, str, bytes]:
        if self.metric not in wire.METRICS:
            message = f"metric is one of {', '.join(wire.METRICS)}, not {self.metric!r}"
            raise Error(ErrorKind.MISUSE, message)
        place = plan.place(self.column)
        kind = plan.schema.columns[place].type
        if kind is not Type.VECTOR:
            message = f"a distance is that of vectors, and this column is {kind.name.lower()}"
            raise Error(ErrorKind.MISMATCH, message, table=plan.schema.name, column=self.column)
        stored = plan.store(place, () if self.to is None else self.to)
        assert isinstance(stored, bytes)
        return place, self.metric, stored


@dataclass(frozen=True)
class Add:
    """See :func:`add`."""

    value: Any


def add(value: Any) -> Add:
    """Assigned to a column: adds to it, in one step on the server."""
    return Add(value)


@dataclass(frozen=True)
class Query:
    """Which rows, in which order, and which columns."""

    where: Condition | None = None
    #: Names; a ``-`` before a name means descending.
    order: tuple[str, ...] = ()
    limit: int | None = None
    offset: int = 0
    columns: tuple[Expression, ...] | None = None
    group: tuple[str, ...] = ()
    #: How to lock the rows: a name, or a time in milliseconds.
    lock: str | int | None = None
    #: What the texts of rows must have.
    search: str | None = None
    #: From which vector distances are measured.
    nearest: Nearest | None = None

    def filtered(self, conditions: Iterable[Condition]) -> Query:
        where = self.where
        for condition in map(_checked, conditions):
            where = condition if where is None else where & condition
        return replace(self, where=where)

    def select(self, plan: Plan) -> wire.Select:
        """The query over positions of columns. Its order ends with the key or the group, so that it
        is the same on every engine."""
        expressions = self.columns
        if expressions is None:
            columns = [("column", place) for place in range(len(plan.schema.columns))]
        else:
            columns = [expression.place(plan) for expression in expressions]
        group = [plan.place(name) for name in self.group]
        order = [(plan.place(name.removeprefix("-")), name.startswith("-")) for name in self.order]
        aggregates = any(what not in ("column", "rank", "distance") for what, _ in columns)
        rest = group if group or aggregates else plan.schema.key
        ordered = {place for place, _ in order}
        order += [(place, False) for place in rest if place not in ordered]
        where = self.condition(plan)
        search = None if self.search is None else (self.search, not self.order)
        limits = self.limit, self.offset, self.lock
        return wire.Select(columns, where, group, order, *limits, search, self._nearest(plan))

    def _nearest(self, plan: Plan) -> tuple[int, str, bytes] | None:
        if self.nearest is None:
            return None
        if self.order or self.search is not None or self.lock is not None:
            what = "the nearest rows are sorted by their distance"
            message = f"{what}: leave out order, search and lock"
            raise Error(ErrorKind.UNSUPPORTED, message, table=plan.schema.name)
        return self.nearest.place(plan)

    def condition(self, plan: Plan) -> wire.Placed | None:
        return None if self.where is None else self.where.place(plan)


def assignments(plan: Plan, values: dict[str, Any]) -> list[wire.Assign]:
    """Assignments to positions of columns, with the modification time."""
    assigns = []
    for name, value in values.items():
        place, adds = plan.place(name), isinstance(value, Add)
        if place in plan.fixed:
            raise Error(
                ErrorKind.MISUSE,
                "a key or version can't be updated: delete the row and insert another",
                table=plan.schema.name,
                column=name,
            )
        stored = plan.store(place, value.value if isinstance(value, Add) else value)
        assigns.append(wire.Assign(place, stored, adds))
    if plan.modified is not None and all(one.place != plan.modified for one in assigns):
        assigns.append(wire.Assign(plan.modified, plan.stamp(plan.modified)))
    return assigns


@dataclass(frozen=True)
class _Comparison(Condition):
    field: Field
    comparison: str
    value: Any

    def place(self, plan: Plan) -> wire.Placed:
        place = plan.place(self.field.name)
        if isinstance(self.value, Field):
            return wire.CompareColumns(place, self.comparison, plan.place(self.value.name))
        if self.value is None:
            raise Error(ErrorKind.MISUSE, "no value is less or greater than NULL: use is_null()")
        return wire.Compare(place, self.comparison, plan.store(place, self.value))


@dataclass(frozen=True)
class _OneOf(Condition):
    field: Field
    values: tuple[Any, ...]

    def place(self, plan: Plan) -> wire.Placed:
        place = plan.place(self.field.name)
        # As in SQL, NULL equals nothing.
        stored = (plan.store(place, value) for value in self.values if value is not None)
        return wire.In(place, tuple(stored))


@dataclass(frozen=True)
class StoredIn(Condition):
    """Whether the column with a position has one of some stored values."""

    position: int
    values: Sequence[Stored]

    def place(self, plan: Plan) -> wire.Placed:
        return wire.In(self.position, tuple(self.values))


@dataclass(frozen=True)
class ColumnOfRows:
    """A column of the rows that a query selects, for :meth:`Field.is_in`."""

    plan: Plan
    where: Condition | None
    name: str


def column_of_rows(plan: Plan, query: Query, name: str) -> ColumnOfRows:
    is_limited = query.limit is not None or query.offset > 0 or query.lock is not None
    if is_limited or query.columns is not None or query.group or query.search is not None:
        message = "a condition takes all rows that match: leave out limit, search and lock"
        raise Error(ErrorKind.MISUSE, message, table=plan.schema.name)
    return ColumnOfRows(plan, query.where, name)


@dataclass(frozen=True)
class _InRows(Condition):
    field: Field
    rows: ColumnOfRows

    def __post_init__(self) -> None:
        where = self.rows.where
        self._nest(1 + (where.depth if where is not None else 0))

    def place(self, plan: Plan) -> wire.Placed:
        rows = self.rows
        where = None if rows.where is None else rows.where.place(rows.plan)
        column = rows.plan.place(rows.name)
        return wire.InQuery(plan.place(self.field.name), rows.plan.schema, column, where)


@dataclass(frozen=True)
class _Null(Condition):
    field: Field

    def place(self, plan: Plan) -> wire.Placed:
        return wire.IsNull(plan.place(self.field.name))


@dataclass(frozen=True)
class _Like(Condition):
    field: Field
    pattern: str
    escape: str | None

    def place(self, plan: Plan) -> wire.Placed:
        return wire.Like(plan.place(self.field.name), self.pattern, self.escape)


@dataclass(frozen=True)
class _Pattern(Condition):
    field: Field
    pattern: str
    kind: type[wire.StartsWith] | type[wire.Contains] | type[wire.EndsWith]

    def place(self, plan: Plan) -> wire.Placed:
        return self.kind(plan.place(self.field.name), self.pattern)


@dataclass(frozen=True)
class _Both(Condition):
    kind: type[wire.And] | type[wire.Or]
    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        self._nest(1 + max(part.depth - self._has_parts_of(part) for part in self.parts))

    def _has_parts_of(self, part: Condition) -> bool:
        return isinstance(part, _Both) and part.kind is self.kind

    def place(self, plan: Plan) -> wire.Placed:
        return self.kind(tuple(part.place(plan) for part in self._flat()))

    def _flat(self) -> Iterable[Condition]:
        """`a & b & c` is one list of three, not two nested ones."""
        waiting = list(self.parts)
        while waiting:
            part = waiting.pop(0)
            if isinstance(part, _Both) and self._has_parts_of(part):
                waiting[:0] = part.parts
            else:
                yield part


@dataclass(frozen=True)
class _Negated(Condition):
    part: Condition

    def __post_init__(self) -> None:
        self._nest(1 + self.part.depth)

    def place(self, plan: Plan) -> wire.Placed:
        return wire.Not(self.part.place(plan))
