"""Generates the sync API from the async one, so that the two never differ.

    python tools/make_sync.py

A test compares the files of the repository with the output.
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "bobak"
FILES = ("blob.py", "session.py", "table.py")

REPLACED = (
    (r", for async code\.", "."),
    (r"\bthis task\b", "this thread"),
    (r"\basync (def|with|for) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\bconnect_async\b", "connect"),
    (r"\b_?Async(Session|Database|Transaction|Table|Selection|Batch|Blob|Iterator)\b", r"\1"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
    (r"\baiter\(", "iter("),
    # The order of the imports.
    (r"import Iterator, Callable, Iterable\b", "import Callable, Iterable, Iterator"),
    (r"import Iterator, Iterable\b", "import Iterable, Iterator"),
)


def made(text: str) -> str:
    """The source of the sync API."""
    for found, instead in REPLACED:
        text = re.sub(found, instead, text)
    return text


def main() -> None:
    for name in FILES:
        text = (SOURCE / "_async" / name).read_text()
        (SOURCE / "_sync" / name).write_text(made(text))


if __name__ == "__main__":
    main()
