"""Conditions, assignments and queries over positions of columns, as they are sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .._errors import Error, ErrorKind
from .code import Stored, Writer
from .schema import TableSchema

#: The maximum depth of a condition.
DEPTH = 200
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
#: How a query locks rows, in the order of their numbers.
LOCKS = ("wait", "no_wait", "skip_locked", "wait_at_most")
METRICS = ("cosine", "euclidean", "dot")
EXPRESSIONS = ("column", "count", "count_of", "sum", "min", "max", "avg", "rank", "distance")


@dataclass(frozen=True)
class Compare:
    place: int
    comparison: str
    value: Stored


@dataclass(frozen=True)
class CompareColumns:
    place: int
    comparison: str
    right: int


@dataclass(frozen=True)
class In:
    place: int
    values: tuple[Stored, ...]


@dataclass(frozen=True)
class InQuery:
    """The column equals a value of a column in the rows of another table that match a condition."""

    place: int
    #: Its number, which replaces its description once the connection is known.
    table: int | TableSchema
    column: int
    condition: Placed | None


@dataclass(frozen=True)
class Like:
    place: int
    pattern: str
    #: After it, a character stands for itself.
    escape: str | None = None


@dataclass(frozen=True)
class Contains:
    place: int
    part: str


@dataclass(frozen=True)
class EndsWith:
    place: int
    suffix: str


@dataclass(frozen=True)
class StartsWith:
    place: int
    prefix: str


@dataclass(frozen=True)
class IsNull:
    place: int


@dataclass(frozen=True)
class And:
    parts: tuple[Placed, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Placed, ...]


@dataclass(frozen=True)
class Not:
    part: Placed


#: A condition over positions of columns and stored values.
Placed = (
    Compare
    | CompareColumns
    | In
    | InQuery
    | Like
    | StartsWith
    | Contains
    | EndsWith
    | IsNull
    | And
    | Or
    | Not
)


@dataclass(frozen=True)
class Assign:
    """Sets a column, or adds to it."""

    place: int
    value: Stored
    adds: bool = False


@dataclass(frozen=True)
class Select:
    """A query over one table."""

    #: Expressions by name, each with the position of a column.
    columns: Sequence[tuple[str, int]]
    condition: Placed | None = None
    group: Sequence[int] = ()
    #: Positions, and whether descending.
    order: Sequence[tuple[int, bool]] = ()
    limit: int | None = None
    offset: int = 0
    #: One of LOCKS, or the milliseconds of the last one.
    lock: str | int | None = None
    #: What the texts of rows must have, and whether the best rows come first.
    search: tuple[str, bool] | None = None
    #: The position of a column of vectors, one of METRICS, and the stored form of a vector.
    nearest: tuple[int, str, bytes] | None = None

    def put(self, writer: Writer) -> None:
        writer.u16(len(self.columns))
        for expression, place in self.columns:
            writer.u8(EXPRESSIONS.index(expression))
            writer.u16(place)
        writer.bool(self.condition is not None)
        if self.condition is not None:
            put_condition(writer, self.condition)
        writer.places(self.group)
        writer.u16(len(self.order))
        for place, descending in self.order:
            writer.u16(place)
            writer.bool(descending)
        writer.option(self.limit, writer.u64)
        writer.u64(self.offset)


def check_depth(depth: int) -> None:
    """Rejects a condition of so many levels, if a server does."""
    if depth > DEPTH:
        message = f"the condition is nested deeper than {DEPTH} levels"
        raise Error(ErrorKind.OUT_OF_RANGE, message)


def put_condition(writer: Writer, condition: Placed, depth: int = 1) -> None:
    check_depth(depth)
    if isinstance(condition, (And, Or)):
        writer.u8(6 if isinstance(condition, And) else 7)
        writer.u32(len(condition.parts))
        for part in condition.parts:
            put_condition(writer, part, depth + 1)
        return
    if isinstance(condition, Not):
        writer.u8(8)
        put_condition(writer, condition.part, depth + 1)
        return
    tags = {
        Compare: 0,
        CompareColumns: 1,
        In: 2,
        Like: 3,
        StartsWith: 4,
        IsNull: 5,
        Contains: 10,
        EndsWith: 11,
        InQuery: 12,
    }
    is_escaped = isinstance(condition, Like) and condition.escape is not None
    writer.u8(9 if is_escaped else tags[type(condition)])
    writer.u16(condition.place)
    if isinstance(condition, (Compare, CompareColumns)):
        writer.u8(COMPARISONS.index(condition.comparison))
    if isinstance(condition, Compare):
        writer.value(condition.value)
    elif isinstance(condition, CompareColumns):
        writer.u16(condition.right)
    elif isinstance(condition, In):
        writer.u32(len(condition.values))
        for value in condition.values:
            writer.value(value)
    elif isinstance(condition, InQuery):
        if not isinstance(condition.table, int):
            raise Error(ErrorKind.MISUSE, "the other table of a condition has no number")
        writer.u32(condition.table)
        writer.u16(condition.column)
        writer.bool(condition.condition is not None)
        if condition.condition is not None:
            put_condition(writer, condition.condition, depth + 1)
    elif isinstance(condition, Like):
        writer.text(condition.pattern)
        if condition.escape is not None:
            writer.text(condition.escape)
    elif isinstance(condition, Contains):
        writer.text(condition.part)
    elif isinstance(condition, EndsWith):
        writer.text(condition.suffix)
    elif isinstance(condition, StartsWith):
        writer.text(condition.prefix)


def numbered(condition: Placed, number: Callable[[TableSchema], int]) -> Placed:
    """The condition with the numbers of the tables that it names."""
    if isinstance(condition, (And, Or)):
        return replace(condition, parts=tuple(numbered(part, number) for part in condition.parts))
    if isinstance(condition, Not):
        return Not(numbered(condition.part, number))
    if isinstance(condition, InQuery):
        table, inner = condition.table, condition.condition
        table = table if isinstance(table, int) else number(table)
        inner = None if inner is None else numbered(inner, number)
        return replace(condition, table=table, condition=inner)
    return condition


def put_assign(writer: Writer, assign: Assign) -> None:
    writer.u8(1 if assign.adds else 0)
    writer.u16(assign.place)
    writer.value(assign.value)
