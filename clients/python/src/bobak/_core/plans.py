"""Plans of queries: how the engine would run them, and which index would help."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._wire import request
from .._wire import row as rows
from .._wire.frame import Kind
from .calls import Ask, Call, Row, checked
from .link import Link, Steps

_EXPLAIN = 1 << 24
_ACCESS = ("scan", "search")


@dataclass(frozen=True)
class PlanStep:
    """A step of a plan."""

    #: What the engine says about the step.
    text: str
    #: How deep it is in the tree of steps: a step belongs to the last one before it that is higher.
    depth: int = 0
    #: The table that it reads.
    table: str | None = None
    #: ``scan`` if it reads all rows of the table, ``search`` if it reads those that it needs.
    access: str | None = None
    #: The index that it uses, if the engine names it.
    index: str | None = None
    #: How many rows the engine expects.
    rows: int | None = None


@dataclass(frozen=True)
class IndexAdvice:
    """An index that would help a query."""

    #: The sentence.
    message: str
    table: str
    #: The columns of the index, in its order.
    columns: tuple[str, ...]


@dataclass(frozen=True)
class QueryPlan:
    """How the engine would run a query. As text it has a line for each step and advice."""

    steps: list[PlanStep] = field(default_factory=list)
    #: The indexes that would help; none if the query reads by an index, or needs all rows.
    advice: list[IndexAdvice] = field(default_factory=list)

    def __str__(self) -> str:
        lines = ["  " * step.depth + step.text for step in self.steps]
        return "\n".join(lines + [f"advice: {one.message}" for one in self.advice])


def explain(ask: Ask) -> Call[QueryPlan]:
    def steps(link: Link) -> Steps[QueryPlan]:
        checked(link, _EXPLAIN, "plans")
        found = yield from link.receive(
            link.put(Kind.EXPLAIN, request.explain(ask(link))), Kind.ROWS
        )
        return _plan(link.read(rows.decode, found))

    return Call(steps, writes=False)


def _plan(found: list[Row]) -> QueryPlan:
    plan = QueryPlan()
    for row in found:
        if isinstance(row[0], int):
            depth, text, table, _, access, index, count = row[:7]
            word = _ACCESS[access] if isinstance(access, int) and access < 2 else None
            plan.steps.append(PlanStep(text, depth, table, word, index, count))  # type: ignore[arg-type]
        else:
            table, message, *columns = row
            plan.advice.append(IndexAdvice(message, table, tuple(columns)))  # type: ignore[arg-type]
    return plan
