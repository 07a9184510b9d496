"""Makes the face that blocks of the one whose calls are awaited, so that the two never differ.

    python tools/make_sync.py

A test holds the files of the repository to what this makes.
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "bobak"
FILES = ("session.py", "table.py")

REPLACED = (
    (r"; their calls are awaited\.", "."),
    (r", whose calls are awaited\.", "."),
    (r"\basync (def|with|for) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\bconnect_async\b", "connect"),
    (r"\b_?Async(Session|Database|Transaction|Table|Selection|Batch|Iterator)\b", r"\1"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
    (r"\baiter\(", "iter("),
    # The order of the imports.
    (r"import Iterator, Iterable\b", "import Iterable, Iterator"),
)


def made(text: str) -> str:
    """The text of the face that blocks."""
    for found, instead in REPLACED:
        text = re.sub(found, instead, text)
    return text


def main() -> None:
    for name in FILES:
        text = (SOURCE / "_async" / name).read_text()
        (SOURCE / "_sync" / name).write_text(made(text))


if __name__ == "__main__":
    main()
