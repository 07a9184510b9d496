"""Typed records in SQLite, in memory or on a server, through Bobak.

    import bobak
    from dataclasses import dataclass

    @dataclass
    class Person:
        id: int
        name: str

    with bobak.connect("bobak+stdio:bobak serve people.db --stdio") as db:
        db.create(Person)
        people = db.table(Person)
        key = people.insert(Person(0, "Ada"))
        print(people.get(key))

:func:`connect` opens a database with blocking calls, :func:`connect_async` one for async code.
"""

from ._async.blob import AsyncBlob
from ._async.session import AsyncDatabase, AsyncTransaction, connect_async
from ._async.table import AsyncBatch, AsyncSelection, AsyncTable
from ._core.batch import Report
from ._core.feed import Change, ChangeKind, ChangePage
from ._core.page import Page
from ._core.plans import IndexAdvice, PlanStep, QueryPlan
from ._core.query import Condition, Expression, add, col, count, distance, rank
from ._core.record import column
from ._core.rows import Rows
from ._core.url import VERSION
from ._errors import Error, ErrorKind, Violation
from ._sync.blob import Blob
from ._sync.session import Database, Transaction, connect
from ._sync.table import Batch, Selection, Table
from ._wire.schema import Collation, Column, Index, OnDelete, OnUpdate, Reference, TableSchema, Type

__version__ = VERSION

__all__ = [
    "AsyncBatch",
    "AsyncBlob",
    "AsyncDatabase",
    "AsyncSelection",
    "AsyncTable",
    "AsyncTransaction",
    "Batch",
    "Blob",
    "Change",
    "ChangeKind",
    "ChangePage",
    "Collation",
    "Column",
    "Condition",
    "Database",
    "Error",
    "ErrorKind",
    "Expression",
    "Index",
    "IndexAdvice",
    "OnDelete",
    "OnUpdate",
    "Page",
    "PlanStep",
    "QueryPlan",
    "Reference",
    "Report",
    "Rows",
    "Selection",
    "Table",
    "TableSchema",
    "Transaction",
    "Type",
    "Violation",
    "add",
    "col",
    "column",
    "connect",
    "connect_async",
    "count",
    "distance",
    "rank",
]
