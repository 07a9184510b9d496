"""Rows per second: the workloads of `bobak bench`, from Python.

    python benches/bench.py [URL] [--rows N]

Without a URL it starts the program that cargo has built, over a Unix socket and over pipes, with a
database in memory.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import bobak

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))


@dataclass
class Sample:
    id: int
    first_name: str = bobak.column(max_chars=40)
    last_name: str = bobak.column(max_chars=40)
    amount: Decimal = Decimal(0)
    birth_date: dt.datetime = dt.datetime(1900, 1, 1)
    last_change: dt.datetime | None = bobak.column(modified_at=True)
    created_at: dt.datetime | None = bobak.column(created_at=True)


def sample(number: int) -> Sample:
    born = dt.datetime(1900, 1, 1) + dt.timedelta(days=number % 40_000)
    return Sample(0, f"Namé {number}", str(number), Decimal(number) / 100, born)


def cell(name: str, rows: int, work: Callable[[], object]) -> None:
    begun = time.perf_counter()
    work()
    print(f"  {name:<12} {rows / (time.perf_counter() - begun):>12,.0f}")


def measure(url: str, rows: int) -> None:
    few = max(1, rows // 20)
    with bobak.connect(url) as db:
        db.create(Sample)
        table = db.table(Sample)
        table.where().delete()
        samples = [sample(number) for number in range(1, rows + 1)]

        def trans() -> None:
            with db.transaction() as transaction:
                inside = transaction.table(Sample)
                for one in samples[:few]:
                    inside.insert(one)

        cell("direct", few, lambda: [table.insert(one) for one in samples[:few]])
        cell("trans", few, trans)
        table.where().delete()
        cell("batch trans", rows, lambda: table.insert_many(samples))
        keys = [one[0] for one in table.where().select("id").all()]
        cell("by one", few, lambda: [table.get(key) for key in keys[:few]])
        cell("by many", rows, lambda: table.get_many(keys))
        found: list[Sample] = []
        cell("all direct", rows, lambda: found.extend(table.all()))
        assert [one.amount for one in found] == [one.amount for one in samples]
        cell("iterator", rows, lambda: sum(1 for _ in table))
        cell("sql", rows, lambda: db.sql("SELECT * FROM sample"))
    asyncio.run(measure_async(url, few))


async def measure_async(url: str, rows: int) -> None:
    async with await bobak.connect_async(url) as db:
        await db.create(Sample)
        table = await db.table(Sample)
        samples = [sample(number) for number in range(rows)]
        begun = time.perf_counter()
        for one in samples:
            await table.insert(one)
        print(f"  {'async direct':<12} {rows / (time.perf_counter() - begun):>12,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url", nargs="?")
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    if options.url:
        print(options.url.partition("?")[0])
        measure(options.url, options.rows)
        return
    import serving

    with tempfile.TemporaryDirectory() as folder:
        server = serving.unix(Path(folder), "sqlite::memory:")
        print("unix socket, sqlite in memory")
        measure(f"bobak+unix:{server.place}", options.rows)
        server.stop()
    print("pipes, sqlite in memory")
    measure(f"bobak+stdio:{serving.program()} serve sqlite::memory: --stdio", options.rows)


if __name__ == "__main__":
    main()
