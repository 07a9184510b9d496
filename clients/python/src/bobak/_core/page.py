"""Pages of a query: the next one begins behind the last row of the one before, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from .._errors import Error, ErrorKind
from .._wire import condition as wire
from .._wire import row as codec
from .._wire.code import Garbled, Stored
from . import calls
from .calls import Call, Row
from .query import Query, number_of
from .table_plan import Plan

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a query."""

    items: list[T]
    #: Where the next page begins; ``None`` on the last page. A short text, with the order, and the
    #: last row's values in its columns and in those of the key.
    next: str | None


def page_of(plan: Plan, query: Query, size: int, after: str | None) -> Call[Page[Any]]:
    is_limited = query.limit is not None or query.offset > 0
    is_other = query.columns is not None or query.group or query.search is not None
    if is_limited or is_other or query.nearest is not None:
        message = "a page needs a query without limit, selected columns, groups, search and nearest"
        raise plan.error(ErrorKind.UNSUPPORTED, message)
    size = number_of(size, "the size of a page", least=1)
    select = query.select(plan)
    places, order = [place for place, _ in select.order], _order_text(plan, select.order)
    where = select.condition
    if after is not None:
        later = _after_row(plan, select.order, _values(plan, after, order, len(places)))
        where = later if where is None else wire.And((where, later))
    # One more row tells whether there is a next page.
    select = replace(select, condition=where, limit=size + 1)

    def page(found: tuple[Any, list[Row]]) -> Page[Any]:
        rows = found[1]
        last = rows[size - 1] if len(rows) > size else None
        token = None
        if last is not None:
            token = codec.encode([order, *(last[place] for place in places)])[4:].hex()
        return Page(plan.records(rows[:size]), token)

    ask = calls.of_select(plan.schema, select)
    return calls.query(ask, lambda rows: rows, names=False).then(page)


def _order_text(plan: Plan, order: Sequence[tuple[int, bool]]) -> str:
    """The order of a page, which its token begins with."""
    columns = plan.schema.columns
    return ",".join("-" * descending + columns[place].name for place, descending in order)


def _values(plan: Plan, token: str, order: str, count: int) -> Row:
    try:
        row = bytes.fromhex(token)
        ((of, *values),) = codec.decode(len(row).to_bytes(4, "little") + row)
    except (Garbled, Error, TypeError, ValueError):
        of, values = None, []
    if not isinstance(of, str):
        raise plan.error(ErrorKind.MISMATCH, "the text is no page token")
    if of != order or len(values) != count:
        message = f"the page token belongs to the order {of}, and the query has {order}"
        raise plan.error(ErrorKind.MISUSE, message)
    return values


def _after_row(plan: Plan, order: Any, values: Row) -> wire.Placed:
    """That a row comes after another one: ``a > x or a = x and (b > y or …)``."""
    condition: wire.Placed | None = None
    for (place, descending), value in reversed(list(zip(order, values))):
        later = _later(place, descending, value, plan.schema.columns[place].nullable)
        if condition is not None:
            null = value is None
            same = wire.IsNull(place) if null else wire.Compare(place, "=", value)
            condition = wire.Or((later, wire.And((same, condition))))
        else:
            condition = later
    assert condition is not None
    return condition


def _later(place: int, descending: bool, value: Stored, nullable: bool) -> wire.Placed:
    """That a column's value comes after another one. NULL is the smallest value."""
    if value is None:
        return wire.Or(()) if descending else wire.Not(wire.IsNull(place))
    if not descending:
        return wire.Compare(place, ">", value)
    less = wire.Compare(place, "<", value)
    return wire.Or((less, wire.IsNull(place))) if nullable else less
